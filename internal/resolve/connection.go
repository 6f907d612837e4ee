// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// Connection is what it takes to have a user connect the account that one of the
// servers is used with: an authorization request (RFC 6749, section 4.1.1), and
// where its outcome goes. What it takes to get tokens by that, the bridge alone
// knows.
type Connection struct {
	// AuthorizationURL is the authorization endpoint, an absolute http or https
	// URL. It may have a query, which stays.
	AuthorizationURL string
	// ClientID is the client's public name there.
	ClientID string
	// Scopes are asked for.
	Scopes []string
	// Resource is the server that the token is for (RFC 8707), empty for none.
	Resource string
	// TokenSecret is the name of the user's secret that the bridge takes the
	// login from.
	TokenSecret string
}

// ConnectionOf returns how the account of one of the bridge's servers is
// connected, as its spec says it or what status.recipes has of its recipe. ok is
// false for a server that there is not, that has no such account, or of which it
// is not known where its user logs in.
func ConnectionOf(b *v1alpha1.HostedBridge, server string) (c Connection, ok bool) {
	for _, s := range plan.Servers(b) {
		if s.Name != server || !plan.Connects(s) {
			continue
		}
		o := s.Auth.OAuth
		return Connection{
			AuthorizationURL: o.AuthorizationURL, ClientID: o.ClientID, Scopes: o.Scopes,
			Resource: o.Resource, TokenSecret: string(o.TokenSecret),
		}, true
	}
	return Connection{}, false
}
