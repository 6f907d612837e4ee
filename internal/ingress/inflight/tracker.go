// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// SweepEvery is how often open requests are looked at. What may no longer
	// go on ends within it and EndWithin, together below a second.
	SweepEvery = 250 * time.Millisecond
	// EndWithin is how long a client has to take the end of a request that
	// was ended.
	EndWithin = 500 * time.Millisecond
	// keepAliveEvery is the default of Config.KeepAlive. Load balancers and
	// NATs forget a connection after 30 to 60 s of silence at the soonest.
	keepAliveEvery = 15 * time.Second
	// writeTimeout is the default of Config.WriteTimeout. The proxy writes up
	// to 32 KiB at once, so that a client has to read 1 KiB/s.
	writeTimeout = 30 * time.Second
	// drainSpread is over how long listening streams are ended at a drain, so
	// that not all of their clients come back in one moment.
	drainSpread = 2 * time.Second
	// drainQuiet is how long a listening stream has been silent when it is
	// ended early at a drain.
	drainQuiet = time.Second
	// drainLead is how long before the end of a drain what is left is ended.
	drainLead = time.Second
)

// Call is one request while it is served.
type Call struct {
	answer
	cancel context.CancelCauseFunc
	// Opens is whether the request opens a stream that its client opens again.
	Opens bool
	// Session is whether it opens the stream of a session of 2024-11-05, or is a
	// message to one, which nobody can answer any more when the stream has ended.
	Session bool
	// Listening is whether the client only listens, and opens the stream again
	// when it ends.
	Listening atomic.Bool
	// Dormant is whether it is a stream that its bridge does not answer yet, which
	// goes on also where that is suspended.
	Dormant atomic.Bool

	// These are guarded by Tracker.mu. watched is set for a request that
	// may go on only as long as its key and its bridge are there.
	watched bool
	guard   Guard
	ending  *httpapi.Problem
	endAt   time.Time

	// life guards the connection's deadlines against use after the end.
	life sync.Mutex
	over bool
}

// Guard is on what a call may go on only as long as it is there.
type Guard struct {
	Principal authn.Principal
	Bridge    types.UID
}

// Begin has c write to w, and cancel be called where the call is ended.
func (c *Call) Begin(w http.ResponseWriter, cancel context.CancelCauseFunc) {
	c.ResponseWriter, c.cancel = w, cancel
}

// Cancel ends the context of c's request.
func (c *Call) Cancel() { c.cancel(nil) }

// deadline sets when writing to the client fails, while the call is served.
func (c *Call) deadline(at time.Time) {
	c.life.Lock()
	defer c.life.Unlock()
	if !c.over {
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(at)
	}
}

// EndedWell reports whether a call that was ended by us has an answer that may
// stop where it is: a stream of events, between two of them.
func (c *Call) EndedWell() bool {
	c.close() // A comment on its way is no reason to cut the stream.
	return c.betweenEvents()
}

// EndedBy returns why the request of ctx was ended by us, or nil.
func EndedBy(ctx context.Context) *httpapi.Problem {
	p, _ := errors.AsType[*httpapi.Problem](context.Cause(ctx))
	return p
}

// Tracker are all requests that are being served. One timer looks at them,
// and only while there are some; a request of its own has no goroutine here
// and no timer.
type Tracker struct {
	routes       Routes
	metrics      *metrics
	keepAlive    time.Duration
	writeTimeout time.Duration
	drainTimeout time.Duration

	mu       sync.Mutex
	calls    map[*Call]struct{}
	timer    *time.Timer
	armed    bool
	draining time.Time
}

// Routes is what is known of users, keys and bridges.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
}

// Options say how calls are looked after.
type Options struct {
	Routes  Routes
	Metrics prometheus.Registerer
	// KeepAlive is after how much silence an event stream gets a comment; 15 s
	// when zero.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take none of what is written to
	// it; 30 s when zero.
	WriteTimeout time.Duration
	// DrainTimeout is how long calls have to end after Drain was called. None are
	// ended then when zero.
	DrainTimeout time.Duration
}

// New returns a Tracker of no calls.
func New(o Options) (*Tracker, error) {
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Tracker{
		routes: o.Routes, metrics: m, calls: map[*Call]struct{}{},
		keepAlive:    cmp.Or(o.KeepAlive, keepAliveEvery),
		writeTimeout: cmp.Or(o.WriteTimeout, writeTimeout),
		drainTimeout: o.DrainTimeout,
	}, nil
}

// Open begins to look after c.
func (k *Tracker) Open(c *Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls[c] = struct{}{}
	if k.armed {
		return
	}
	k.armed = true
	if k.timer == nil {
		k.timer = time.AfterFunc(SweepEvery, k.sweep)
		return
	}
	k.timer.Reset(SweepEvery)
}

// End is after c's handler. What net/http then still has to write is bounded
// like everything before.
func (k *Tracker) End(c *Call) {
	c.close()
	k.mu.Lock()
	delete(k.calls, c)
	ended := c.ending != nil
	k.mu.Unlock()
	if !ended {
		c.deadline(time.Now().Add(k.writeTimeout))
	}
	c.life.Lock()
	c.over = true
	c.life.Unlock()
}

// Watch has c end when the guard's principal no longer opens its bridge, or the
// bridge is another or none, unless c is watched already.
func (k *Tracker) Watch(c *Call, g Guard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.watched {
		return
	}
	c.watched, c.guard = true, g
}

// WriteTimeout is how long a client may take none of what is written to it.
func (k *Tracker) WriteTimeout() time.Duration { return k.writeTimeout }

// Drain ends streams on which clients only listen, so that they go on elsewhere,
// and whatever is left shortly before the DrainTimeout is over. It is called
// once, when connections are no longer accepted.
func (k *Tracker) Drain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.draining = time.Now()
}

// sweep looks at each open call once.
func (k *Tracker) sweep() {
	now := time.Now()
	f := k.inspect(now)
	for _, c := range f.ended {
		k.metrics.ended.WithLabelValues(c.ending.Code).Inc()
		c.cancel(c.ending)
		c.deadline(now.Add(EndWithin))
	}
	for _, c := range f.stuck {
		k.metrics.ended.WithLabelValues("slow_reader").Inc()
		c.deadline(now.Add(-time.Second))
	}
	for _, c := range f.silent {
		go func() {
			if c.keepAlive() {
				k.metrics.keptAlive.Inc()
			}
		}()
	}
}

// found are the calls for which something is to be done: those that have to
// end, those whose client takes nothing, and streams that want a comment.
type found struct{ ended, stuck, silent []*Call }

// inspect finds them, and resets the timer while calls are in flight.
func (k *Tracker) inspect(now time.Time) (f found) {
	t, at := k.routes.Current(), ticks()
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.calls {
		switch since := c.writing.Load(); {
		case k.ends(c, t, now):
			f.ended = append(f.ended, c)
		case since != 0 && at-since > int64(k.writeTimeout):
			f.stuck = append(f.stuck, c)
		case since == 0 && c.events.Load() && at-c.wrote.Load() >= int64(k.keepAlive):
			f.silent = append(f.silent, c)
		}
	}
	if k.armed = len(k.calls) > 0; k.armed {
		k.timer.Reset(SweepEvery)
	}
	return f
}

// ends reports whether c has to end now, and did not have to before.
func (k *Tracker) ends(c *Call, t *route.Table, now time.Time) bool {
	if c.ending != nil {
		return false
	}
	if c.watched && t != nil {
		c.ending = revoked(c, t, now)
	}
	if c.ending == nil && !k.draining.IsZero() && k.drained(c, now) {
		c.ending = problems.Ending
	}
	return c.ending != nil
}

// drained reports whether the drain has come to c.
func (k *Tracker) drained(c *Call, now time.Time) bool {
	if left := k.drainTimeout - now.Sub(k.draining); k.drainTimeout > 0 && left <= min(drainLead, k.drainTimeout/2) {
		return true
	}
	if c.endAt.IsZero() {
		c.endAt = now.Add(rand.N(drainSpread)) //nolint:gosec // It guards nothing.
	}
	return c.listens() && !now.Before(c.endAt) && ticks()-c.wrote.Load() > int64(drainQuiet) && c.betweenEvents()
}

// listens reports whether c is a stream that is opened for whatever may come,
// or for what is left of an answer, and can be opened again without loss. That
// of the transport of 2024-11-05 is its session, and ends with it.
func (c *Call) listens() bool {
	opened := c.Opens || c.Listening.Load()
	return opened && c.events.Load()
}

// revoked returns why c's caller would no longer be let in.
func revoked(c *Call, t *route.Table, now time.Time) *httpapi.Problem {
	if !c.guard.Principal.StillValid(t, now) || c.guard.Principal.Ended(now) && (c.listens() || c.Session) {
		return problems.Unauthorized
	}
	switch b, ok := t.Lookup(c.guard.Principal.User); {
	case !ok || b.BridgeUID != c.guard.Bridge:
		return problems.NotFound
	case b.State == route.Suspended && !c.Dormant.Load():
		return problems.Suspended
	}
	return nil
}
