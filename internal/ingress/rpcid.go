// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import "encoding/json"

// maxRPCID is the longest request id that is echoed, in bytes. Clients count
// or send UUIDs; an id of any length would let an error be as long as a call.
const maxRPCID = 256

// rpcID returns the id of the JSON-RPC request in body as it was written, or
// nil when there is none to echo: a notification, a response, a batch, an id
// that is neither string nor number, or a body that is not JSON.
func rpcID(body []byte) json.RawMessage {
	if !json.Valid(body) {
		return nil
	}
	var id json.RawMessage
	var method bool
	for name, value := range members(body) {
		switch name {
		case "id":
			id = value
		case "method":
			method = true
		}
	}
	if !method || !echoable(id) {
		return nil
	}
	return id
}

func echoable(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > maxRPCID {
		return false
	}
	c := id[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}
