// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

const (
	// maxBatch bounds the calls of a batch, and batchWidth how many are under
	// way at once: a batch is one request of a client and should not be a burst
	// for a server.
	maxBatch   = 10
	batchWidth = 3
)

// slot is the outcome of one call of a batch.
type slot struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
	// Result is the server's own, without its content: that stands, as it came,
	// among the blocks of the batch's content.
	Result map[string]json.RawMessage `json:"result,omitzero"`
	// Content says which blocks they are.
	Content *span `json:"content,omitempty"`
	// Error is why there is no result.
	Error any `json:"error,omitempty"`

	blocks []json.RawMessage
}

// span are the blocks from First, which counts from 0, on.
type span struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// callAll makes the calls of a batch. In the content of the answer each call has
// a text that says which one it is, and behind it the blocks of its result. The
// structured content has the calls in the same order, with everything else. The
// answer is an error only if all of them failed.
func (b *Bridge) callAll(ctx context.Context, q *query, calls []callWish) (mcp.Result, error) {
	if len(calls) == 0 || len(calls) > maxBatch {
		return q.reply(refuse(refusedParams, nil, "calls must have 1 to %d entries, not %d", maxBatch, len(calls)), true)
	}
	slots := make([]slot, len(calls))
	done := b.progressOf(ctx, q, len(calls))
	var group errgroup.Group
	group.SetLimit(batchWidth)
	for i, w := range calls {
		group.Go(func() error {
			slots[i] = b.fill(ctx, q, w)
			done()
			return nil
		})
	}
	_ = group.Wait() // never an error
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.join(slots)
}

// progressOf returns what tells the client that one more call has ended. The
// servers' own progress is not passed on: several would count at once.
func (b *Bridge) progressOf(ctx context.Context, q *query, total int) (done func()) {
	token := q.meta[metaProgressToken]
	if token == nil {
		return func() {}
	}
	var mu sync.Mutex
	ended := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended++
		_, _ = b.toClient(ctx, noteProgress, &mcp.ServerRequest[mcp.Params]{Session: q.client, Params: &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(ended), Total: float64(total),
		}})
	}
}

// fill makes one call.
func (b *Bridge) fill(ctx context.Context, q *query, w callWish) slot {
	s := slot{Server: w.Server, Tool: w.Tool}
	e, refused, err := b.choose(ctx, w)
	if err != nil {
		s.Error = failureOf(rpcError(err, w.Server))
		return s
	}
	if refused != nil {
		s.Error = refused
		return s
	}
	defer b.leave(e.upstream)
	s.Server = e.server
	result, err := b.forward(ctx, q.inside(e, w).unasked(), e.upstream)
	if err != nil {
		s.Error = failureOf(err)
		return s
	}
	if err := s.take(result); err != nil {
		s.Error = failureOf(rpcError(err, e.server))
	}
	return s
}

// unasked returns the query as that of a client that a server without sessions
// cannot ask anything: what it would ask could not be told from what the others
// in the batch ask.
func (q *query) unasked() *query {
	q.meta = maps.Clone(q.meta)
	delete(q.meta, metaProgressToken)
	if q.era == modern {
		q.meta[metaClientCaps] = map[string]any{}
	}
	return q
}

// take puts a server's result into the slot.
func (s *slot) take(result mcp.Result) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if err := json.Unmarshal(raw, &s.Result); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if string(s.Result["resultType"]) == `"input_required"` {
		s.Result = nil
		s.Error = refuse(failedMCP, nil, "the tool asks for input, which it cannot in a batch: call it by itself")
		return nil
	}
	if content, ok := s.Result["content"]; ok {
		if err := json.Unmarshal(content, &s.blocks); err != nil {
			return fmt.Errorf("read content: %w", err)
		}
	}
	delete(s.Result, "content")
	delete(s.Result, "resultType")
	return nil
}

// failed reports whether the call did not do what it should.
func (s *slot) failed() bool { return s.Error != nil || string(s.Result["isError"]) == "true" }

// header says in words which call it is and how it ended.
func (s *slot) header(i, total int) string {
	name := s.Tool
	if s.Server != "" {
		name = s.Server + "/" + s.Tool
	}
	outcome := "ok"
	switch e := s.Error.(type) {
	case nil:
		if s.failed() {
			outcome = "error"
		}
	case *refusal:
		outcome = e.Kind + ": " + e.Message
	case ambiguity:
		outcome = "ambiguous: " + e.Message
	}
	return fmt.Sprintf("[%d/%d] %s: %s", i+1, total, name, outcome)
}

// join makes one result of the slots.
func (q *query) join(slots []slot) (mcp.Result, error) {
	var content []any
	failed := true
	for i := range slots {
		s := &slots[i]
		content = append(content, textBlock(s.header(i, len(slots))))
		if s.Error == nil {
			s.Content = &span{First: len(content), Count: len(s.blocks)}
		}
		for _, block := range s.blocks {
			content = append(content, block)
		}
		failed = failed && s.failed()
	}
	result := empty()
	result.set("content", content)
	result.set("structuredContent", map[string]any{"action": actionBatch, "results": slots})
	if failed {
		result.set("isError", true)
	}
	if q.era == modern {
		result.forModern(q.method, implementation)
	}
	return result, nil
}

// failureOf returns the refusal that stands for a JSON-RPC error where others
// stand beside it.
func failureOf(err error) *refusal {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		return refuse(failedMCP, nil, "the call was given up")
	}
	r := refuse(failedMCP, nil, "%s", rpc.Message)
	r.Code = rpc.Code
	var data struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(rpc.Data, &data) == nil && data.Code == "upstream_unavailable" {
		r.Kind = failedConnection
	}
	return r
}
