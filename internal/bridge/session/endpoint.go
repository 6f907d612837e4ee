// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Host has the functions of the bridge that client sessions use.
type Host struct {
	Life    context.Context // of the bridge
	Server  *mcp.Server     // for clients over one stream
	Signing *Signing
	Calls   *Calls
	Audit   *callaudit.Trail
	// Run starts a function in the background. The bridge waits for it when it closes.
	Run func(func())
	// Restored takes over a session of a previous process.
	Restored func(s *Session, hops string)
	// Answer answers a request in a session.
	Answer func(ctx context.Context, s *Session, q *message.Request) (mcp.Result, error)
	// Alone answers a request of 2026-07-28 on one stream. Without a result and an error the client gets none.
	Alone func(ctx context.Context, m rpc.Message, sent *message.Sent, send message.Send) (mcp.Result, error)
}

// Endpoint serves both eras at one URL.
type Endpoint struct {
	legacy, modern http.Handler
	calls          *Calls
}

// NewEndpoint returns the endpoint of a bridge. modern serves clients of the modern era. The
// caller has already authorized the client and checked Host and Origin.
func NewEndpoint(h Host, modern http.Handler) *Endpoint {
	return &Endpoint{calls: h.Calls, legacy: NewStore(h), modern: modern}
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.calls.begin(r)()
	found, id, err := message.DetectEra(r)
	if err != nil {
		http.Error(w, "the request's body could not be read", http.StatusBadRequest)
		return
	}
	stream := eventstream.NewWriter(w)
	defer stream.End()
	switch found {
	case message.Modern:
		e.modern.ServeHTTP(stream, r)
	case message.Sessionless:
		missingSession(w, id)
	default:
		e.legacy.ServeHTTP(stream, r)
	}
}

// missingSession answers a legacy request without a session.
func missingSession(w http.ResponseWriter, id json.RawMessage) {
	answerError(w, http.StatusBadRequest, id, &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: "the " + message.HeaderSessionID + " header is missing: initialize a session first",
		Data:    json.RawMessage(`{"code":"session_missing"}`),
	})
}

// answerError answers a message with a JSON-RPC error. id is nil for a message without one.
func answerError(w http.ResponseWriter, status int, id json.RawMessage, failure *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	answer := map[string]any{"jsonrpc": "2.0", "error": failure}
	if len(id) > 0 {
		answer["id"] = id
	}
	_, _ = w.Write(jsondoc.EncodeExact(answer))
}
