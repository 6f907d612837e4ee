// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// wakesAtOnce is how many wakes are written at a time. One takes some 10 ms,
	// so that a thousand users who come back in the same moment are asked for
	// within 2 s, in the order in which they came. How many of their pods start
	// at once is the operator's to say: no user keeps another's wake from being
	// written by a bridge that does not get ready.
	wakesAtOnce = 8
	// wakeAgain is when a wake is written again if the table still says that the
	// bridge sleeps: the watch shows what was written long before.
	wakeAgain = 2 * time.Second
	// wakeTimeout bounds one write. Its request waits no longer anyway, and holds
	// up those behind it for so long.
	wakeTimeout = 5 * time.Second
	// besideTimeout is how long a wake may wait for its turn that no request waits for,
	// as long as a request waits by default.
	besideTimeout = 30 * time.Second
)

// wakeQueue wakes bridges. Of all requests that wait for a bridge one has it woken.
type wakeQueue struct {
	wake    func(context.Context, route.Backend) error
	metrics *wakeMetrics
	log     *slog.Logger
	slots   chan struct{}
	// woken are the bridges that the next request may not have woken yet.
	woken expiringSet[types.UID]
}

func newWakeQueue(wake func(context.Context, route.Backend) error, m *wakeMetrics, log *slog.Logger) *wakeQueue {
	return &wakeQueue{wake: wake, metrics: m, log: log, slots: make(chan struct{}, wakesAtOnce)}
}

// begin has b woken, unless another request does or did a moment ago. asleep
// says whether it still has to be, when it is its turn. It returns when that is
// written, or was given up; the next request then tries.
func (w *wakeQueue) begin(ctx context.Context, b route.Backend, asleep func() bool) {
	if !w.claim(b.BridgeUID, time.Now()) {
		return
	}
	written := false
	defer func() { w.release(b.BridgeUID, written, time.Now()) }()
	select {
	case w.slots <- struct{}{}: // Whoever waits longest comes first.
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return
	}
	if !asleep() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	err := w.wake(ctx, b)
	if written = err == nil; written {
		w.metrics.wakes.WithLabelValues("written").Inc()
		return
	}
	w.metrics.wakes.WithLabelValues("failed").Inc()
	w.log.WarnContext(ctx, "bridge not woken", "user", b.User, "error", err)
}

// claimed is until a claim is released.
var claimed = time.Unix(1<<40, 0)

// claim reports whether the caller is to have the bridge woken.
func (w *wakeQueue) claim(bridge types.UID, now time.Time) bool {
	return w.woken.claim(bridge, claimed, now)
}

// release lets the next request try, soon after a wake that was written and at
// once after another.
func (w *wakeQueue) release(bridge types.UID, written bool, now time.Time) {
	if written {
		w.woken.set(bridge, now.Add(wakeAgain), now)
		return
	}
	w.woken.clear(bridge)
}

// wakeMetrics are those of bridges that sleep.
type wakeMetrics struct {
	wakes   *prometheus.CounterVec
	waiting prometheus.Histogram
}

func newWakeMetrics(reg prometheus.Registerer) (*wakeMetrics, error) {
	m := &wakeMetrics{
		wakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_wakes_total",
			Help: "Wakes of sleeping bridges by result: written, or failed and tried again by the next request that waits.",
		}, []string{"result"}),
		waiting: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostedbridge_ingress_wake_wait_seconds",
			Help:    "How long requests waited that found their bridge asleep and were released to it.",
			Buckets: []float64{.25, .5, .75, 1, 1.5, 2, 3, 5, 10, 20, 30},
		}),
	}
	telemetry.Begin(m.wakes, "written", "failed")
	if err := telemetry.Register(reg, m.wakes, m.waiting); err != nil {
		return nil, err
	}
	return m, nil
}
