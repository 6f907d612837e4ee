// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWhoDoesNotReadHoldsUpNobody puts more into an outbox than it takes while
// nothing can be passed on.
func TestWhoDoesNotReadHoldsUpNobody(t *testing.T) {
	release := make(chan struct{})
	box := &Queue{}
	var passed atomic.Int32
	pass := func(Notification) {
		<-release
		passed.Add(1)
	}
	for range 10 {
		box.Put(Notification{Raw: []byte(strings.Repeat("x", outboxBytes/4))}, pass)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	box.flush(ctx)
	cancel()
	if got := passed.Load(); got != 0 {
		t.Errorf("%d passed", got)
	}
	close(release)
	box.flush(t.Context())
	if got := passed.Load(); got < 4 || got > 5 {
		t.Errorf("%d passed, want as many as there is room for", got)
	}
	large := &Queue{}
	large.Put(Notification{Raw: []byte(strings.Repeat("x", 2*outboxBytes))}, pass)
	large.flush(t.Context())
	if got := passed.Load(); got > 6 || got < 5 {
		t.Errorf("one that alone is too large was dropped")
	}
	large.flush(t.Context())
}
