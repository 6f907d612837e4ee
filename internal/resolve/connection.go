// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// ConnectionOf returns the server of the bridge, whose OAuth is the login by which
// its account is connected. ok is false if the server does not exist, has no such
// account, or its login page is not known.
func ConnectionOf(b *effective.Bridge, server string) (found bridgeconfig.Server, ok bool) {
	for _, s := range bridgestate.Servers(b) {
		if s.Name == server && bridgestate.Connects(s) {
			return s.Server, true
		}
	}
	return bridgeconfig.Server{}, false
}
