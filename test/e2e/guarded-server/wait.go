// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// longest is how long a call of the tool wait takes that nobody cancels.
const longest = time.Minute

// waits is what became of the calls of the tool wait that came with one token.
type waits struct {
	Begun     int `json:"begun"`
	Cancelled int `json:"cancelled"`
}

// waiting counts the calls of the tool wait by the hash of the token.
type waiting struct {
	mu sync.Mutex
	by map[string]waits
}

func (w *waiting) add(token string, more waits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.by[token]
	w.by[token] = waits{Begun: was.Begun + more.Begun, Cancelled: was.Cancelled + more.Cancelled}
}

func (w *waiting) of(token string) waits {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.by[token]
}

// toWait is what wait is given.
type toWait struct {
	Seconds int `json:"seconds,omitempty" jsonschema:"how long it works, a minute if not given"`
}

func (w toWait) time() time.Duration {
	if w.Seconds <= 0 {
		return longest
	}
	return min(longest, time.Duration(w.Seconds)*time.Second)
}

// addWaiting adds a tool that works until it is cancelled, and one that says
// how often that happened.
func addWaiting(s *mcp.Server) {
	seen := &waiting{by: map[string]waits{}}
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Tells of its progress once and then works for a minute or so many seconds, unless it is cancelled"},
		func(ctx context.Context, r *mcp.CallToolRequest, in toWait) (*mcp.CallToolResult, any, error) {
			token := tokenHash(r.Extra)
			seen.add(token, waits{Begun: 1})
			if progress := r.Params.GetProgressToken(); progress != nil {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: progress, Progress: 1, Total: 2})
			}
			timer := time.NewTimer(in.time())
			defer timer.Stop()
			select {
			case <-ctx.Done():
				seen.add(token, waits{Cancelled: 1})
				return nil, nil, errors.New("cancelled")
			case <-timer.C:
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			}
		})
	mcp.AddTool(s, &mcp.Tool{Name: "waits", Description: "Says how many calls of wait have begun, and how many of them were cancelled"},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, waits, error) {
			return nil, seen.of(tokenHash(r.Extra)), nil
		})
}
