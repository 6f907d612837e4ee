// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Connections are the accounts with which users' servers are used.
type Connections interface {
	// Find returns how the account of one of a user's servers is connected, or
	// ErrNotFound where there is no such server, or none with such an account.
	Find(ctx context.Context, user v1alpha1.UserID, server string) (Connection, error)
	// Keep hands the user's bridge what the authorization server of the account
	// answered. It alone can make tokens of it.
	Keep(ctx context.Context, c Connection, answer ConnectionAnswer) error
}

// Connection is how the account of one server is connected.
type Connection struct {
	User   v1alpha1.UserID `json:"user"`
	Server string          `json:"server"`
	// Bridge is the UID of the user's bridge.
	Bridge types.UID `json:"bridge"`
	// AuthorizationURL is where the user logs in; it may have a query. ClientID,
	// Scopes and Resource are what is asked for there, the last two if not empty.
	AuthorizationURL string   `json:"authorizationURL"`
	ClientID         string   `json:"clientID"`
	Scopes           []string `json:"scopes,omitempty"`
	Resource         string   `json:"resource,omitempty"`
	// TokenURL is where the bridge exchanges the answer for tokens. ServerURL is where
	// it sends the tokens, empty for a program in the bridge's pod.
	TokenURL  string `json:"tokenURL"`
	ServerURL string `json:"serverURL,omitempty"`
	// Secret is the user's secret that the answer is kept in.
	Secret string `json:"secret"`
}

// ConnectionAnswer is the answer to an authorization request (RFC 6749, section
// 4.1.2), with what the request began with.
type ConnectionAnswer struct {
	Code, Verifier, RedirectURL string
}
