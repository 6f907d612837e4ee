// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// metaVersion is the member of _meta by which a request without a session says
// its protocol version.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// rpcMessage is what the ingress knows of one JSON-RPC request.
type rpcMessage struct {
	// ID is as it was written. A request whose id is null is one too: whoever
	// answers it or not, it was asked.
	ID     json.RawMessage
	Method string
	// Tool is the tool that is called, empty for other methods.
	Tool string
	// Arguments are those of a tool call. They are part of the body.
	Arguments json.RawMessage
	// ProtocolVersion is what the request itself says, empty for most of those
	// that belong to a session.
	ProtocolVersion string
}

// isCall reports whether m calls a tool.
func (m *rpcMessage) isCall() bool { return m.Method == audit.MethodCallTool }

// messagesOf returns the JSON-RPC requests in the body that readBody read: not
// notifications, not responses, and each of a batch. It returns nil for what is
// not JSON-RPC. The body is parsed once for each HTTP request.
func messagesOf(c *gin.Context) []rpcMessage {
	found := stepsOf(c)
	if !found.parsed {
		found.messages, found.overlong = parseMessages(found.body)
		found.parsed = true
	}
	return found.messages
}

// parseMessages returns the requests in body, and whether it is a batch of more
// than maxBatch members, of which the others were not looked at.
func parseMessages(body []byte) (messages []rpcMessage, overlong bool) {
	if !json.Valid(body) {
		return nil, false
	}
	if body = trimSpace(body); body[0] != '[' {
		return appendRequest(nil, body), false
	}
	n := 0
	for item := range items(body) {
		if n++; n > maxBatch {
			return messages, true
		}
		messages = appendRequest(messages, item)
	}
	return messages, false
}

// appendRequest appends the request that object is, if it is one. Of a name
// that stands twice the last counts, as it does for those who answer.
func appendRequest(messages []rpcMessage, object []byte) []rpcMessage {
	var m rpcMessage
	var params json.RawMessage
	for name, value := range members(object) {
		switch name {
		case "id":
			m.ID = value
		case "method":
			m.Method = nameOf(value)
		case "params":
			params = value
		}
	}
	if m.ID == nil || m.Method == "" {
		return messages
	}
	m.readParams(params)
	return append(messages, m)
}

// keysOf is audit.Keys for an object that is known to be valid.
func keysOf(object json.RawMessage) (keys []string) {
	for name := range members(object) {
		keys = append(keys, name)
	}
	return audit.KeysOf(keys)
}

func (m *rpcMessage) readParams(params json.RawMessage) {
	for name, value := range members(params) {
		switch {
		case name == "name" && m.isCall():
			m.Tool = nameOf(value)
		case name == "arguments" && m.isCall():
			m.Arguments = value
		case name == "_meta":
			for key, v := range members(value) {
				if key == metaVersion {
					m.ProtocolVersion = nameOf(v)
				}
			}
		}
	}
}
