// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wakesBy returns a queue of wakes.
func wakesBy(t *testing.T, wake func(context.Context, route.Backend) error) *wakeQueue {
	t.Helper()
	metrics, err := newWakeMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return newWakeQueue(wake, metrics, slog.New(slog.DiscardHandler))
}

// fakeRoutes publishes tables.
type fakeRoutes struct {
	mu      sync.Mutex
	table   *route.Table
	changed chan struct{}
}

func newFakeRoutes() *fakeRoutes { return &fakeRoutes{changed: make(chan struct{})} }

func (f *fakeRoutes) Current() *route.Table {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table
}

func (f *fakeRoutes) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeRoutes) set(t *route.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table = t
	close(f.changed)
	f.changed = make(chan struct{})
}
