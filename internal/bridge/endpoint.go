// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endpoint serves both eras at one URL.
type endpoint struct {
	legacy, modern http.Handler
	calls          *calls
}

// newEndpoint returns the endpoint of b. Who may ask, and from which Host and
// Origin, was decided before; the SDK's own check would only see the ingress.
func newEndpoint(b *Bridge) *endpoint {
	get := func(*http.Request) *mcp.Server { return b.server }
	return &endpoint{
		calls:  &b.calls,
		legacy: newStays(b),
		modern: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless:                    true,
			Logger:                       quiet,
			DisableLocalhostProtection:   true,
			MaxRequestBodyBytes:          maxBody,
			PropagateRequestCancellation: true,
		}),
	}
}

func newEventStore() mcp.EventStore {
	s := mcp.NewMemoryEventStore(nil)
	s.SetMaxBytes(replayBytes)
	return s
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.calls.begin(r)()
	found, id, err := detectEra(r)
	if err != nil {
		http.Error(w, "the request's body could not be read", http.StatusBadRequest)
		return
	}
	stream := newStream(w)
	defer stream.end()
	switch found {
	case modern:
		e.modern.ServeHTTP(stream, r)
	case stray:
		noSession(w, id)
	default:
		e.legacy.ServeHTTP(stream, r)
	}
}

// noSession answers a legacy request that names no session.
func noSession(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	answer := map[string]any{
		"jsonrpc": "2.0",
		"error": map[string]any{
			"code":    jsonrpc.CodeInvalidRequest,
			"message": "the " + headerSessionID + " header is missing: initialize a session first",
			"data":    map[string]string{"code": "session_missing"},
		},
	}
	if len(id) > 0 {
		answer["id"] = id
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// serveHealth answers GET /health.
func (b *Bridge) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(b.Health())
}
