// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"

	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// MaxID is the longest request id that is echoed, in bytes. Clients count
// or send UUIDs; an id of any length would let an error be as long as a call.
const MaxID = 256

// ID returns the id of the JSON-RPC request in body as it was written, or
// nil for a body without an id to echo: a notification, a response, a batch, an id
// that is neither string nor number, or a body that is not JSON.
func ID(body []byte) json.RawMessage {
	r := jsonscan.Open(body)
	defer r.Close()
	var id json.RawMessage
	var method bool
	for name := range r.Members() {
		switch string(name) {
		case "id":
			id = r.Raw()
		case "method":
			method = true
		}
	}
	if !method || !echoable(id) || !r.Valid() {
		return nil
	}
	return id
}

func echoable(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > MaxID {
		return false
	}
	c := id[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}
