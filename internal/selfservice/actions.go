// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"context"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The interfaces below are what the API's routes and the console call. The first argument
// after the context is the user's bridge, which the caller has authenticated. Errors are
// or wrap *httpapi.Problem.

// Actor notes acts in the audit trail in the name of who makes them. httpapi.Call is one.
type Actor interface {
	Audit(httpapi.Act) error
}

// ServerActions are what a user may do about servers.
type ServerActions interface {
	Servers(ctx context.Context, of route.Backend) (Servers, error)
	// Choose sets the choice about a server, and ClearChoice removes it. Both return the
	// server as it is known to be afterwards.
	Choose(ctx context.Context, by Actor, of route.Backend, server string, c Choice) (Server, error)
	ClearChoice(ctx context.Context, by Actor, of route.Backend, server string) (Server, error)
	Tools(ctx context.Context, of route.Backend, q ToolQuery) (Tools, error)
}

// SecretActions are what a user may do about secrets and connected accounts.
type SecretActions interface {
	Secrets(ctx context.Context, of route.Backend) (Secrets, error)
	// SetSecret does not use value after it has returned.
	SetSecret(ctx context.Context, by Actor, of route.Backend, name string, value []byte) (s Secret, created bool, err error)
	DeleteSecret(ctx context.Context, by Actor, of route.Backend, name string) error
	Connections(ctx context.Context, of route.Backend) (Connections, error)
	// Disconnect removes the tokens of a server's account.
	Disconnect(ctx context.Context, by Actor, of route.Backend, server string) error
}

// History is what was done with a bridge.
type History interface {
	Usage(ctx context.Context, of route.Backend, q UsageQuery) (Usage, error)
	// Activity ignores the user of the query: it is that of the bridge.
	Activity(ctx context.Context, of route.Backend, q audit.Query) (Activity, error)
}

// UsageQuery is the time that figures are asked for.
type UsageQuery struct {
	From, To time.Time
	// Step is hour or day.
	Step string
	// Top is how many servers and tools are listed at most.
	Top int
}
