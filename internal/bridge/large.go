// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// roomFor waits until there is memory for the body of a request. It returns false after it
// has refused the request.
func (b *Bridge) roomFor(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.ContentLength >= 0 && r.ContentLength <= budget.Free || r.ContentLength > message.MaxBody {
		return true // A body that is too large is refused unread.
	}
	length := r.ContentLength
	if length < 0 {
		length = message.MaxBody
	}
	err := b.audit.MemoryOfRequest(r).TakeRequest(r.Context(), length)
	if err == nil {
		return true
	}
	if r.Context().Err() != nil {
		return false // The client has left.
	}
	m := &rpc.Oversize{}
	_, _ = io.Copy(m, http.MaxBytesReader(w, r.Body, message.MaxBody)) // Whoever still sends would not read the answer.
	refuseBusy(w, m.ID())
	return false
}

// refuseBusy answers a request for which there is no memory. With an id, the status is that of any
// answer: clients drop the text of other ones.
func refuseBusy(w http.ResponseWriter, id json.RawMessage) {
	seconds := int(budget.RetryAfter / time.Second)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	if id == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(jsondoc.EncodeExact(map[string]any{
		"jsonrpc": "2.0", "id": id,
		"error": map[string]any{
			"code": codeRefused, "message": fault.BusyText,
			"data": map[string]any{"code": fault.BusyCode, "retryAfterSeconds": seconds},
		},
	}))
}

// codeRefused is the JSON-RPC code that the ingress also uses for refusals.
const codeRefused = -32050
