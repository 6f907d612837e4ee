// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"iter"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// Response is what an audit entry says of a JSON-RPC response.
type Response struct {
	ID        json.RawMessage
	Status    audit.Status
	ErrorType string
}

// Responses returns the JSON-RPC responses in data: one, or those of a batch.
// Data may be the beginning of a message; then what is not a request or a
// notification for sure is taken for a response.
func Responses(data []byte) iter.Seq[Response] {
	return func(yield func(Response) bool) {
		r := jsonscan.Open(data)
		if !r.IsArray() {
			if a, ok := responseOf(r); ok {
				yield(a)
			}
		}
		for range r.Items() {
			if a, ok := responseOf(r); ok && !yield(a) {
				break
			}
		}
		r.Close() // Not deferred, which would cost each caller allocations.
	}
}

// responseOf returns the response that the next value is.
func responseOf(r *jsonscan.Reader) (Response, bool) {
	a := Response{Status: audit.Success}
	if !r.IsObject() {
		return a, false
	}
	for name := range r.Members() {
		switch string(name) {
		case "method":
			return a, false
		case "id":
			a.ID = r.Raw()
		case "error":
			a.Status, a.ErrorType = audit.ProtocolError, codeOf(r)
		case "result":
			a.Status = statusOfResult(r)
		}
	}
	return a, true
}

// statusOfResult tells from the result of a tool call how it ended.
func statusOfResult(r *jsonscan.Reader) audit.Status {
	for name := range r.Members() {
		switch string(name) {
		case "isError":
			if string(r.Raw()) == "true" {
				return audit.ToolError
			}
		case "resultType":
			if r.Text() == "input_required" {
				return audit.InputRequired
			}
		}
	}
	return audit.Success
}

// codeOf returns the number of a JSON-RPC error.
func codeOf(r *jsonscan.Reader) string {
	for name := range r.Members() {
		if string(name) != "code" {
			continue
		}
		var code int
		if value := r.Raw(); json.Unmarshal(value, &code) == nil {
			return string(value)
		}
	}
	return ""
}
