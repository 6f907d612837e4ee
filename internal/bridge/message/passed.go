// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// OnWire returns the parameters to send: nil if the message has none.
func (p *Params) OnWire() mcp.Params {
	if p == nil || p.Raw == nil {
		return nil
	}
	return p
}

// WithoutMeta returns params without the metadata key. The metadata itself goes with its last key.
func WithoutMeta(params json.RawMessage, key string) json.RawMessage {
	fields := objectOf(params)
	meta := objectOf(fields["_meta"])
	if _, ok := meta[key]; !ok {
		return params
	}
	delete(meta, key)
	if fields["_meta"] = jsondoc.EncodeExact(meta); len(meta) == 0 {
		delete(fields, "_meta")
	}
	return jsondoc.EncodeExact(fields)
}

// TextField returns a field of the parameters that is a text, or empty without it.
func (p *Params) TextField(key string) string {
	var text string
	_ = json.Unmarshal(objectOf(p.Raw)[key], &text) // A value of another type is no text.
	return text
}

// Answer is a client's answer to a server's question, as the client sent it.
type Answer struct {
	mcp.ResultBase
	Raw json.RawMessage
}

// MarshalJSON returns the answer unchanged.
func (a *Answer) MarshalJSON() ([]byte, error) { return a.Raw, nil }

// RawAnswer returns a client's answer as JSON.
func RawAnswer(result mcp.Result) (json.RawMessage, error) {
	if a, ok := result.(*Answer); ok {
		return a.Raw, nil
	}
	return json.Marshal(result)
}

type withdrawalKey struct{}

// WithWithdrawal returns a context for a question that its server may cancel. w may be nil.
func WithWithdrawal(ctx context.Context, w *Withdrawal) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, withdrawalKey{}, w)
}

// WithdrawalOf returns how the question of ctx was cancelled, or nil.
func WithdrawalOf(ctx context.Context) *Withdrawal {
	w, _ := ctx.Value(withdrawalKey{}).(*Withdrawal)
	return w
}

// Withdrawal holds the parameters of the notification by which a request was cancelled.
type Withdrawal struct {
	mu     sync.Mutex
	set    bool
	params json.RawMessage
}

// Set stores the parameters of the notification.
func (w *Withdrawal) Set(params json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set, w.params = true, params
}

// Merge returns the parameters of the notification that cancels the request elsewhere: those with
// which it was cancelled here, and the id of sent. Without such parameters, it returns sent.
func (w *Withdrawal) Merge(sent json.RawMessage) json.RawMessage {
	params, ok := w.Get()
	fields, id := objectOf(params), objectOf(sent)["requestId"]
	if !ok || fields == nil || id == nil {
		return sent
	}
	fields["requestId"] = id
	return jsondoc.EncodeExact(fields)
}

// Get returns the parameters of the notification, and false if the request was not cancelled.
func (w *Withdrawal) Get() (params json.RawMessage, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.params, w.set
}
