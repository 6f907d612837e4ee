// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// unconnected reports whether s uses a login and the user has not logged in yet.
func unconnected(s bridgeconfig.Server, v secret.View) bool {
	if s.OAuth == nil || s.OAuth.Token == "" || v.Unreadable(s.OAuth.Token) {
		return false
	}
	_, ok := v.Lookup(s.OAuth.Token)
	return !ok
}

// Grant holds the secrets that a server may use, until they change. All connections of a grant
// send the same headers.
type Grant struct {
	View secret.View
	// Fault says why the server is out of service; empty if it is not.
	Fault string
	// Lacking says that a secret which the server needs is not set.
	Lacking bool
	// Waiting says that the secrets have not arrived yet. Unconnected says that the server uses a
	// login and the user has not logged in.
	Waiting, Unconnected bool
	// Generation identifies this version of the secrets.
	Generation uint64
	// Network is the transport for requests to the server: it adds the headers.
	Network http.RoundTripper
	// launch is the server's program with its secrets. running is the transport to the program
	// once it was started.
	launch   stdio.Launch
	once     sync.Once
	running  client.Dialer
	Redactor secret.Redactor
	// Life ends when a new grant replaces this one.
	Life context.Context
	end  context.CancelFunc
	// Grace is the deadline for calls that are in flight when Life ends.
	Grace context.Context
	Cut   context.CancelCauseFunc
}

// generations counts the grants of all servers.
var generations atomic.Uint64

// Removed returns the grant of a server that was removed from the configuration.
func Removed(ctx context.Context) *Grant {
	g := &Grant{Generation: generations.Add(1), Fault: "it is in the configuration no more"}
	g.Grace, g.Cut = context.WithCancelCause(ctx)
	g.Life, g.end = context.WithCancel(g.Grace)
	return g
}

// New returns the grant of s. A nil set means that the secrets have not arrived yet; this matters
// only to servers that use secrets.
func New(ctx context.Context, s bridgeconfig.Server, set *secret.Set, next http.RoundTripper) *Grant {
	g := &Grant{Generation: generations.Add(1), View: set.GrantHeld(s.Secrets, s.Held), Fault: s.Fault}
	g.Waiting = set == nil && len(s.Secrets) > 0 && g.Fault == ""
	g.Grace, g.Cut = context.WithCancelCause(ctx)
	g.Life, g.end = context.WithCancel(g.Grace)
	// Copied now: the values are wiped when new secrets arrive, and calls that are still in flight
	// may return errors after that.
	g.Redactor = g.View.Redactor()
	if s.OAuth != nil {
		g.Redactor = g.Redactor.With(tokensIn(revealed(s, g.View))...)
	}
	if g.Usable() {
		g.Fault, g.Unconnected = faultOf(s, g.View), unconnected(s, g.View)
		g.Lacking = slices.ContainsFunc(s.Required(), func(name string) bool {
			_, set := g.View.Lookup(name)
			return !set && !g.View.Unreadable(name)
		})
	}
	headers := http.Header{}
	if g.Usable() {
		headers, g.Fault = expand(s, g.View)
	}
	if g.Usable() {
		g.launch, g.Fault = launchOf(s, g.View)
	}
	g.Network = &egress.HeaderTransport{Next: next, Origin: egress.OriginOf(s.URL), Headers: headers}
	return g
}

// Usable reports whether the bridge can connect to the server.
func (g *Grant) Usable() bool { return g.Fault == "" && !g.Waiting }

// Expire ends the grant's life at once, and cuts off calls in flight after grace.
func (g *Grant) Expire(grace time.Duration) {
	g.end()
	cut := g.Cut // not g itself, so that g can be freed before the timer fires
	time.AfterFunc(grace, func() { cut(fault.ErrStale) })
}

// Over reports whether a new grant has replaced this one.
func (g *Grant) Over() bool { return g.Life.Err() != nil }

// faultOf returns the problem with the secrets of s, or an empty string.
func faultOf(s bridgeconfig.Server, v secret.View) string {
	var wrong []string
	for _, name := range s.Secrets {
		if v.Unreadable(name) {
			wrong = append(wrong, fmt.Sprintf("secret %s cannot be opened", named(s, name)))
		}
	}
	for _, name := range s.Required() {
		if _, ok := v.Lookup(name); !ok && !v.Unreadable(name) {
			wrong = append(wrong, fmt.Sprintf("secret %s is not set", named(s, name)))
		}
	}
	return strings.Join(wrong, "; ")
}

// named is the name of a secret of s in words for users, who can set only their own.
func named(s bridgeconfig.Server, secret string) string {
	if s.Shared == "" {
		return secret
	}
	return s.Credential() + "/" + secret
}

// expand returns the headers of s with their secrets, or the problem with them.
func expand(s bridgeconfig.Server, v secret.View) (http.Header, string) {
	headers := http.Header{}
	for _, h := range s.Headers {
		t, err := template.Parse(h.Value)
		if err != nil {
			return nil, fmt.Sprintf("header %s: %v", h.Name, err)
		}
		value, missing, err := t.ExpandHeader(h.Name, v.Lookup)
		if err != nil {
			return nil, err.Error()
		}
		if len(missing) > 0 {
			return nil, fmt.Sprintf("secret %s is not set", missing[0])
		}
		headers.Set(h.Name, value)
	}
	return headers, ""
}
