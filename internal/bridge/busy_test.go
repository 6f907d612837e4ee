// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestABridgeSaysThatItIsBusy has a call in flight by each way to a bridge. By
// HTTP+SSE no request of the client is open meanwhile that shows it.
func TestABridgeSaysThatItIsBusy(t *testing.T) {
	for way, connect := range map[string]func(*rig) *mcp.ClientSession{
		"a request without a session": func(r *rig) *mcp.ClientSession { return r.connect(t, "modern", nil) },
		"a request in a session":      func(r *rig) *mcp.ClientSession { return r.connect(t, "legacy", nil) },
		"HTTP+SSE":                    func(r *rig) *mcp.ClientSession { return r.connectSSE(t, "", nil) },
	} {
		t.Run(way, func(t *testing.T) {
			goOn := make(chan struct{})
			w := newSlowServer(t, "legacy", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-goOn
				return said("done"), nil
			})
			r := newRig(t, fast, w.Server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
			client := connect(r)
			if busy := r.bridge.Health().Busy; busy != 0 {
				t.Errorf("busy = %d with a client that does nothing", busy)
			}
			answers := outcomeOf(t, client)
			next(t, w.began, "call")
			if busy := r.bridge.Health().Busy; busy != 1 {
				t.Errorf("busy = %d with a call in flight, want 1", busy)
			}
			close(goOn)
			if got := next(t, answers, "answer"); got != "done" {
				t.Errorf("answer = %s", got)
			}
			// The end of the request comes after its answer.
			for deadline := time.Now().Add(10 * time.Second); r.bridge.Health().Busy != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("busy = %d after the call", r.bridge.Health().Busy)
				}
			}
		})
	}
}
