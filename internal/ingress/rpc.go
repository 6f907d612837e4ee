// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"strings"

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
		found.messages, found.overlong, found.plain = parseMessages(found.body)
		found.parsed = true
	}
	return found.messages
}

// checkMessages lets only bodies pass that a bridge cannot read differently:
// what it takes for a call that is none here would be neither counted nor
// audited.
func (s *Server) checkMessages(c *gin.Context) error {
	found := stepsOf(c)
	if messagesOf(c); found.plain {
		return nil
	}
	found.body = nil // Nobody can say which id an answer has to have.
	return errNotOneMessage
}

// parseMessages returns the requests in body, and whether it is a batch of more
// than maxBatch members, of which the others were not looked at. A body is plain
// that is one JSON value, whose messages have each member that decides what they
// are once and spelled as it should be. Some readers stop behind the first value,
// take the first of two members, or take Method for method.
func parseMessages(body []byte) (messages []rpcMessage, overlong, plain bool) {
	if !json.Valid(body) {
		return nil, false, false
	}
	if body = trimSpace(body); body[0] != '[' {
		messages, plain = appendRequest(nil, body)
		return messages, false, plain
	}
	n, plain := 0, true
	for item := range items(body) {
		if n++; n > maxBatch {
			return messages, true, plain
		}
		var itemPlain bool
		messages, itemPlain = appendRequest(messages, item)
		plain = plain && itemPlain
	}
	return messages, false, plain
}

// appendRequest appends the request that object is, if it is one, and reports
// whether object is plain.
func appendRequest(messages []rpcMessage, object []byte) ([]rpcMessage, bool) {
	var m rpcMessage
	var params json.RawMessage
	asked, plain := false, distinct{names: messageNames}
	for name, value := range members(object) {
		plain.add(name)
		switch name {
		case "id":
			m.ID = value
		case "method":
			m.Method = nameOf(value)
			// One without a name is a request too, whose answer is an error.
			asked = m.Method != "" || len(value) == len(`""`) || string(value) == "null"
		case "params":
			params = value
		}
	}
	paramsPlain := m.readParams(params)
	if m.ID != nil && asked {
		messages = append(messages, m)
	}
	return messages, !plain.broken && paramsPlain
}

// The members that decide what a message, and a tool call, is.
var (
	messageNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	callNames    = []string{"name", "arguments", "_meta"}
	paramNames   = callNames[2:]
	metaNames    = []string{metaVersion}
)

// distinct finds that one of some names stands twice in an object, or in other
// letters.
type distinct struct {
	names  []string
	seen   uint8 // a bit for each of names
	broken bool
}

func (d *distinct) add(name string) {
	for i, known := range d.names {
		if name == known {
			d.broken = d.broken || d.seen&(1<<i) != 0
			d.seen |= 1 << i
			return
		}
	}
	for _, known := range d.names {
		d.broken = d.broken || strings.EqualFold(name, known)
	}
}

// keysOf is audit.Keys for an object that is known to be valid.
func keysOf(object json.RawMessage) (keys []string) {
	for name := range members(object) {
		keys = append(keys, name)
	}
	return audit.KeysOf(keys)
}

// readParams reports whether params are plain.
func (m *rpcMessage) readParams(params json.RawMessage) bool {
	in, meta := distinct{names: paramNames}, distinct{names: metaNames}
	if m.isCall() {
		in.names = callNames
	}
	for name, value := range members(params) {
		in.add(name)
		switch {
		case name == "name" && m.isCall():
			m.Tool = nameOf(value)
		case name == "arguments" && m.isCall():
			m.Arguments = value
		case name == "_meta":
			for key, v := range members(value) {
				if meta.add(key); key == metaVersion {
					m.ProtocolVersion = nameOf(v)
				}
			}
		}
	}
	return !in.broken && !meta.broken
}
