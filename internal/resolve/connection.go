// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// ConnectionsOf returns the servers of the bridge whose accounts are connected, by name.
func ConnectionsOf(b *v1alpha1.HostedBridge) map[string]mcpserver.Server {
	found := map[string]mcpserver.Server{}
	for _, s := range plan.Servers(b) {
		if plan.Connects(s) {
			found[s.Name] = s.Server
		}
	}
	return found
}

// ConnectionOf returns the server of the bridge, whose OAuth is the login by which
// its account is connected. ok is false if the server does not exist, has no such
// account, or its login page is not known.
func ConnectionOf(b *v1alpha1.HostedBridge, server string) (found mcpserver.Server, ok bool) {
	found, ok = ConnectionsOf(b)[server]
	return found, ok
}
