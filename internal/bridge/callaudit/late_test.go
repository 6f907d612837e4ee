// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

func TestWhatNobodyFetchesIsBounded(t *testing.T) {
	l := &deferred{}
	for i := range maxLateSessions {
		if !l.add(fmt.Sprint(i), audit.Call{Tool: "t"}) {
			t.Fatalf("session %d has no place", i)
		}
	}
	if l.add("one more", audit.Call{}) || l.add("", audit.Call{}) {
		t.Error("there is a place for more sessions, or for none")
	}
	for range maxLateCalls - 1 {
		l.add("0", audit.Call{})
	}
	if l.add("0", audit.Call{}) || len(l.take("0")) != maxLateCalls || len(l.take("0")) != 0 || !l.add("one more", audit.Call{}) {
		t.Error("a session keeps more calls than it may, or its place")
	}
}

func TestWhatCouldNotBeToldIsKept(t *testing.T) {
	rec := &Recorder{}
	rec.add(audit.Call{Tool: "t", Method: methods.CallTool, Status: audit.Success})
	w := &eventWriter{brokenWriter{}, rec.take, rec.add}
	if n, err := w.Write([]byte("event: message\ndata: x\n\n")); err == nil || n != 0 || len(rec.take()) != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

// brokenWriter is an answer that cannot be written.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Header() http.Header { return http.Header{"Content-Type": {"text/event-stream"}} }

func (brokenWriter) Write([]byte) (int, error) { return 3, io.ErrClosedPipe }
