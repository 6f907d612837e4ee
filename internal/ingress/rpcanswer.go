// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"iter"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// rpcAnswer is what an audit entry says of a JSON-RPC response.
type rpcAnswer struct {
	id        json.RawMessage
	status    audit.Status
	errorType string
}

// answersIn returns the JSON-RPC responses in data: one, or those of a batch.
// Data may be the beginning of a message; then what is not a request or a
// notification for sure is taken for a response.
func answersIn(data []byte) iter.Seq[rpcAnswer] {
	return func(yield func(rpcAnswer) bool) {
		if data = trimSpace(data); len(data) > 0 && data[0] == '[' {
			for item := range items(data) {
				if a, ok := answerOf(item); ok && !yield(a) {
					return
				}
			}
			return
		}
		if a, ok := answerOf(data); ok {
			yield(a)
		}
	}
}

// answerOf returns the response that object is.
func answerOf(object []byte) (rpcAnswer, bool) {
	a := rpcAnswer{status: audit.Success}
	if len(object) == 0 || object[0] != '{' {
		return a, false
	}
	for name, value := range members(object) {
		switch name {
		case "method":
			return a, false
		case "id":
			a.id = value
		case "error":
			a.status, a.errorType = audit.ProtocolError, codeOf(value)
		case "result":
			a.status = statusOfResult(value)
		}
	}
	return a, true
}

// statusOfResult tells from the result of a tool call how it ended.
func statusOfResult(result []byte) audit.Status {
	for name, value := range members(result) {
		switch {
		case name == "isError" && string(value) == "true":
			return audit.ToolError
		case name == "resultType" && nameOf(value) == "input_required":
			return audit.InputRequired
		}
	}
	return audit.Success
}

// codeOf returns the number of a JSON-RPC error.
func codeOf(rpcError []byte) string {
	for name, value := range members(rpcError) {
		var code int
		if name == "code" && json.Unmarshal(value, &code) == nil {
			return string(value)
		}
	}
	return ""
}
