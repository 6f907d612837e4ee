// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// Questions are the open questions of a server on one connection. A question that the server
// cancelled is not answered.
type Questions struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]*message.Withdrawal
}

// Asked adds a question.
func (q *Questions) Asked(id json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[jsonrpc.ID]*message.Withdrawal{}
	}
	if key, ok := keyOf(id); ok {
		q.open[key] = &message.Withdrawal{}
	}
}

// Withdrawal returns what becomes known when the server cancels a question, nil if the question is
// not open.
func (q *Questions) Withdrawal(id json.RawMessage) *message.Withdrawal {
	q.mu.Lock()
	defer q.mu.Unlock()
	key, _ := keyOf(id)
	return q.open[key]
}

// Withdraw takes the parameters of a notification that cancels a question.
func (q *Questions) Withdraw(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if key, ok := keyOf(p.ID); ok {
		if asked := q.open[key]; asked != nil {
			asked.Set(params)
		}
	}
}

// Answered removes a question, and reports whether the server cancelled it.
func (q *Questions) Answered(id json.RawMessage) (withdrawn bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	key, ok := keyOf(id)
	if !ok {
		return false
	}
	if asked := q.open[key]; asked != nil {
		_, withdrawn = asked.Get()
	}
	delete(q.open, key)
	return withdrawn
}

// keyOf returns an id in the form of the SDK.
func keyOf(id json.RawMessage) (jsonrpc.ID, bool) {
	var v any
	if json.Unmarshal(id, &v) != nil {
		return jsonrpc.ID{}, false
	}
	key, err := jsonrpc.MakeID(v)
	return key, err == nil && key.IsValid()
}
