// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// ConnectionOf returns the server of the bridge, whose OAuth is the login by which
// its account is connected. ok is false if the server does not exist, has no such
// account, or its login page is not known.
func ConnectionOf(b *v1alpha1.HostedBridge, server string) (found mcpserver.Server, ok bool) {
	for _, s := range plan.Servers(b) {
		if s.Name == server && plan.Connects(s) {
			return s.Server, true
		}
	}
	return mcpserver.Server{}, false
}
