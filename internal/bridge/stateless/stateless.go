// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Handler serves requests that stand alone.
type Handler struct {
	// Answer answers a request. What it sends by the request's Send reaches the client before the result.
	Answer func(ctx context.Context, q *sent.Request) (mcp.Result, error)
	// CheckArguments compares the headers that repeat arguments of a tool with the arguments.
	CheckArguments func(tool string, arguments json.RawMessage, header http.Header) error
	// Implementation is added to results that name no implementation.
	Implementation *mcp.Implementation
}

// Serve answers the message in a client's POST.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(body) == 0 {
		http.Error(w, "POST requires a non-empty body", http.StatusBadRequest)
		return
	}
	m, err := parse(body)
	switch {
	case errors.Is(err, errBatch):
		http.Error(w, fmt.Sprintf("JSON-RPC batching is not supported in 2025-06-18 and later (request version: %s)", r.Header.Get(headerVersion)), http.StatusBadRequest)
		return
	case err != nil:
		http.Error(w, fmt.Sprintf("malformed payload: %v", err), http.StatusBadRequest)
		return
	case m.answer:
		w.WriteHeader(http.StatusAccepted) // A response answers no request of the bridge.
		return
	case sent.IsFraction([]byte(m.id)):
		deny(w, m, sent.ErrFractionalID)
		return
	}
	known, err := m.check()
	if err != nil {
		refuse(w, m, err)
		return
	}
	asked := request{message: m, method: known, meta: m.metadata()}
	asked.params, asked.unreadable = m.decode()
	if err := h.checkRequest(r.Header, asked); err != nil {
		deny(w, m, err)
		return
	}
	if known.Notification {
		w.WriteHeader(http.StatusAccepted) // No notification concerns a request that stands alone.
		return
	}
	h.answer(w, r, asked)
}

// Ask answers a request on a connection without headers. Without a result and an error there is no answer.
func (h *Handler) Ask(ctx context.Context, asked rpc.Message, as *sent.Sent, send sent.Send) (mcp.Result, error) {
	m := message{id: []byte(asked.ID), name: asked.Method, raw: []byte(asked.Params)}
	q := request{message: m, method: methods.Of(m.name), meta: m.metadata()}
	q.params, q.unreadable = m.decode()
	result, err := h.result(ctx, nil, q, as, send)
	switch {
	case errors.Is(err, errUnsaid):
		return nil, nil
	case err != nil:
		return nil, wireError(err, m.name)
	}
	h.sign(result)
	return result, nil
}

// request is a valid message of this protocol.
type request struct {
	message
	method *methods.Method
	meta   metadata
	params mcp.Params // nil if they are invalid
	// unreadable is the error in the parameters.
	unreadable error
}

// refuse answers a message that is not a valid request of this protocol.
func refuse(w http.ResponseWriter, m message, err error) {
	if errors.As(err, new(*unsupportedError)) && m.id != nil {
		write(w, http.StatusNotFound, response{Version: "2.0", ID: m.id, Error: notFound(err)})
		return
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

// checkRequest compares the headers with the message.
func (h *Handler) checkRequest(header http.Header, q request) error {
	if said := q.meta.version(); q.id != nil || said != "" {
		if err := checkVersion(header.Get(headerVersion), said); err != nil {
			return err
		}
	}
	return h.checkHeaders(header, q.name, q.params)
}

// answer answers the request.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, q request) {
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Connection", "keep-alive")
	a := &answer{id: q.id, method: q.name, w: w}
	defer a.close()
	result, err := h.result(r.Context(), r.Header, q, &sent.Sent{Params: []byte(q.raw)}, a.send)
	if r.Context().Err() != nil || errors.Is(err, errUnsaid) {
		return // The client has disconnected, or has the answer.
	}
	if err == nil {
		h.sign(result)
	}
	_ = a.end(result, err) // A write error cannot be reported to the client.
}

// result returns the answer to a request with valid headers.
func (h *Handler) result(ctx context.Context, header http.Header, q request, as *sent.Sent, send sent.Send) (mcp.Result, error) {
	if err := q.meta.check(); err != nil {
		return nil, err
	}
	if err := checkSupported(q.meta.version()); err != nil {
		return nil, err
	}
	if q.method.In&methods.Modern == 0 {
		return nil, notFound(nil)
	}
	if q.unreadable != nil {
		return nil, q.unreadable
	}
	asked := &sent.Request{
		ID: []byte(q.id), Method: q.name, Params: sent.ParamsOrEmpty(q.params), Era: sent.Modern, Header: header,
		Sent: as, Send: send,
	}
	asked.ReadSent()
	return h.Answer(ctx, asked)
}

// sign adds the implementation to a result that names none.
func (h *Handler) sign(result mcp.Result) {
	meta := result.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	if _, ok := meta[mcp.MetaKeyServerInfo]; !ok {
		meta[mcp.MetaKeyServerInfo] = h.Implementation
		result.SetMeta(meta)
	}
}
