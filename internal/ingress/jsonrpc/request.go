// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// metaVersion is the member of _meta by which a request without a session says
// its protocol version.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// Request is what the ingress knows of one JSON-RPC request.
type Request struct {
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

// IsToolCall reports whether m calls a tool.
func (m *Request) IsToolCall() bool { return m.Method == methods.CallTool }

// MaxBatch is how many members a batch may have, whatever the tier allows: each
// call of one has its line in the audit trail. Clients that send batches at all
// send a handful.
const MaxBatch = 100

// Batch is what is known of a body: the requests in it, not notifications, not
// responses, and each of a batch. What is not JSON-RPC has none.
type Batch struct {
	Requests []Request
	// Overlong says that the body is a batch of more than MaxBatch members. Requests
	// has the first ones.
	Overlong bool
	// Plain says that no reader of the body finds other requests.
	Plain bool
}

// Parse returns what is known of body. A body is plain that is one JSON value,
// whose messages have each member that decides what they are once and spelled as it
// should be. Some readers stop behind the first value, take the first of two members,
// or take Method for method.
func Parse(body []byte) Batch {
	r := jsonscan.Open(body)
	defer r.Close()
	b := Batch{Plain: true}
	if r.IsArray() {
		for i := range r.Items() {
			if b.Overlong = i >= MaxBatch; b.Overlong {
				break
			}
			b.Plain = appendRequest(&b.Requests, r) && b.Plain
		}
	} else {
		b.Plain = appendRequest(&b.Requests, r)
	}
	if !r.Valid() {
		return Batch{}
	}
	return b
}

// appendRequest appends the request that the next value is, if it is one, and
// reports whether the value is plain.
func appendRequest(messages *[]Request, r *jsonscan.Reader) bool {
	var m Request
	var params rpcParams
	asked, names := false, distinct{names: messageNames}
	for name := range r.Members() {
		names.add(name)
		switch string(name) {
		case "id":
			m.ID = r.Raw()
		case "method":
			value := r.Raw()
			m.Method = jsonscan.Text(value)
			// One without a name is a request too, whose answer is an error.
			asked = m.Method != "" || len(value) == len(`""`) || string(value) == "null"
		case "params":
			params = readParams(r)
		}
	}
	odd := params.odd
	if m.ProtocolVersion = params.version; m.IsToolCall() {
		m.Tool, m.Arguments = params.name, params.arguments
	} else {
		odd &^= callNamesOnly
	}
	if m.ID != nil && asked {
		*messages = append(*messages, m)
	}
	return names.odd == 0 && odd == 0
}

// The members that decide what a message, and a tool call, is.
var (
	messageNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramNames   = []string{"name", "arguments", "_meta"}
	metaNames    = []string{metaVersion}
)

// callNamesOnly are the bits of those of paramNames that decide nothing but what
// a tool call is.
const callNamesOnly = 1<<0 | 1<<1

// distinct finds those of some names that stand twice in an object, or in other
// letters.
type distinct struct {
	names     []string
	seen, odd uint8 // a bit for each of names
}

func (d *distinct) add(name []byte) {
	for i, known := range d.names {
		if string(name) == known {
			d.odd |= d.seen & (1 << i)
			d.seen |= 1 << i
			return
		}
	}
	for i, known := range d.names {
		if strings.EqualFold(string(name), known) {
			d.odd |= 1 << i
		}
	}
}

// rpcParams is what the params of a message say, if they are those of a tool call.
type rpcParams struct {
	name, version string
	arguments     json.RawMessage
	// odd are the bits of those of paramNames that are not plain.
	odd uint8
}

func readParams(r *jsonscan.Reader) (p rpcParams) {
	names, meta := distinct{names: paramNames}, distinct{names: metaNames}
	for name := range r.Members() {
		names.add(name)
		switch string(name) {
		case "name":
			p.name = r.Text()
		case "arguments":
			p.arguments = r.Raw()
		case "_meta":
			for key := range r.Members() {
				if meta.add(key); string(key) == metaVersion {
					p.version = r.Text()
				}
			}
		}
	}
	p.odd = names.odd | meta.odd<<(len(paramNames)-1) // A member of _meta that is odd makes _meta so.
	return p
}

// Keys returns the names of the members of an object that is known to be valid, as
// audit.Keys does.
func Keys(object json.RawMessage) (keys []string) {
	r := jsonscan.Open(object)
	defer r.Close()
	for name := range r.Members() {
		keys = append(keys, string(name))
	}
	return audit.KeysOf(keys)
}
