// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/ingress/proxy"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// watchCall ends the request when its key or its bridge goes. It has no answer
// of its own: forward finds out that a bridge is not there.
func (t *router) watchCall(r *request) error {
	p := r.principal()
	if table := t.routes.Current(); table != nil {
		if b, ok := table.Lookup(p.User); ok && b.State != route.Suspended {
			t.tracker.Watch(&r.Call, inflight.Guard{Principal: p, Bridge: b.BridgeUID})
		}
	}
	return nil
}

// forward sends the request to the principal's bridge and its answer back.
func (t *router) forward(r *request) error { return t.forwardTo(r, endpointMCP) }

// forwardSSE is forward for the transport of 2024-11-05.
func (t *router) forwardSSE(r *request) error { return t.forwardTo(r, ssePath) }

func (t *router) forwardTo(r *request, endpoint string) error {
	p := r.principal()
	x := &proxy.Request{
		Request: bridgeclient.Request{Method: r.http.Method, Path: "/u/" + string(p.User) + endpoint, Header: r.http.Header, RequestID: r.id},
		Call:    &r.Call, Audit: &r.audit, Writer: r.w, Principal: p, Body: r.body, Messages: r.requests(), SSE: endpoint == ssePath,
	}
	if x.Method == http.MethodPost {
		x.Query = r.http.URL.RawQuery
	}
	defer func() { r.held, r.attempts = x.Held, x.Attempts }() // Also of an answer that is broken off.
	return t.proxy.Forward(r.context(), x)
}

// checkSession refuses a message that names no session. Without any query it may
// be the attempt of a newer client to find out which transport there is here: it
// goes on to the older one after a 405.
func checkSession(r *request) error {
	switch u := r.http.URL; {
	case u.ForceQuery:
		return problems.SessionInvalid
	case u.RawQuery == "":
		r.w.Header().Set("Allow", http.MethodGet)
		return problems.MethodNotAllowed
	}
	return nil
}
