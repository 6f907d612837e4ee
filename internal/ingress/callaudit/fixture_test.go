// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAudit keeps the entries that it is given, unless it is to fail.
type fakeAudit struct {
	mu      sync.Mutex
	entries []audit.Entry
	err     error
	// before is called at each write; nil for nothing.
	before func(audit.Entry)
}

// Write implements Sink.
func (f *fakeAudit) Write(e audit.Entry) error {
	if f.before != nil {
		f.before(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.entries = append(f.entries, e.Bounded())
	return nil
}

// all returns what was written.
func (f *fakeAudit) all() []audit.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.entries)
}

// resultOf is the answer to it.
func resultOf(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
}

// eventOf is an event of a stream that holds message.
func eventOf(message string) string { return "event: message\ndata: " + message + "\n\n" }

// toldIn is the comment by which a bridge tells of calls.
func toldIn(calls ...audit.Call) string {
	return audit.EventPrefix + audit.EncodeTrailer(calls) + "\n"
}

func called(server, tool string, status audit.Status) audit.Call {
	return audit.Call{Server: server, Tool: tool, Method: "tools/call", Status: status}
}
