// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// problemTimeout is how long a refusal may take to be read: it fits into one
// packet.
const problemTimeout = 10 * time.Second

// publicProblem returns what the caller may know of err. Anything that nobody
// made public is an internal error.
func publicProblem(err error) *httpapi.Problem {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		return p
	}
	return problems.Internal
}

// canceled reports whether err says that the caller went away.
func canceled(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// writeProblem answers r with err: the only place where an error becomes a
// status. body is what has been read of the request's body, for the id.
func writeProblem(r *request, err error, body []byte) {
	p := publicProblem(err)
	r.fail(p, err)
	if r.crowded {
		writeBusy(r)
		return
	}
	h := r.w.Header()
	h.Set("Cache-Control", "no-store")
	p.SetHeader(h, "hosted-bridge")
	if p.Status == http.StatusNotFound {
		// What is not there has no quota.
		h.Del("RateLimit")
		h.Del("RateLimit-Policy")
	}
	// A client that does not read the refusal must not hold the connection.
	_ = http.NewResponseController(r.w).SetWriteDeadline(time.Now().Add(problemTimeout))
	if r.showProblem != nil && r.showProblem(r.w, p) == nil {
		return
	}
	var limit *limits.LimitData
	if e, ok := errors.AsType[*limits.QuotaError](err); ok {
		limit = &e.Data
	}
	contentType, answer := httpapi.ContentType, []byte(nil)
	switch {
	case r.isRPC():
		contentType, answer = "application/json", encodeRPC(p, jsonrpc.ID(body), limit)
	case r.encodeProblem != nil:
		contentType, answer = r.encodeProblem(p)
	default:
		answer = p.Encode(limit)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	r.w.WriteHeader(limit.Status(p, r.batch.Requests))
	// A client that hung up does not read the error either.
	_, _ = r.w.Write(answer)
}

// JSON-RPC error codes. rpcRefused is one that the protocol leaves to
// implementations and that MCP does not use.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcInternal       = -32603
	rpcRefused        = -32050
)

// encodeRPC returns p as a JSON-RPC error. Without an id the member
// is left out: null would be the answer to a request whose id is null.
func encodeRPC(p *httpapi.Problem, id json.RawMessage, limit *limits.LimitData) []byte {
	type data struct {
		Code              string `json:"code"`
		RetryAfterSeconds int    `json:"retryAfterSeconds,omitempty"`
		*limits.LimitData
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}
	code := rpcRefused
	switch {
	case errors.Is(p, problems.NotOneMessage):
		code = rpcParseError
	case p.Status == http.StatusBadRequest || p.Status == http.StatusRequestEntityTooLarge || p.Status == http.StatusUnsupportedMediaType:
		code = rpcInvalidRequest
	case p.Status == http.StatusInternalServerError || p.Status == http.StatusBadGateway:
		code = rpcInternal
	}
	return jsondoc.EncodeExact(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   rpcError        `json:"error"`
	}{"2.0", id, rpcError{code, p.Detail, data{p.Code, int(p.RetryAfter.Seconds()), limit}}})
}
