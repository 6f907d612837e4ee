// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// sweepEvery is how often open requests are looked at. What may no longer
	// go on ends within it and endWithin, together below a second.
	sweepEvery = 250 * time.Millisecond
	// endWithin is how long a client has to take the end of a request that
	// was ended.
	endWithin = 500 * time.Millisecond
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

// openCall is one request while it is served.
type openCall struct {
	answer
	method string
	record *record
	cancel context.CancelCauseFunc
	steps  steps
	// listening is whether the client only listens, and opens the stream again
	// when it ends.
	listening atomic.Bool
	// resting is whether it is a stream that its bridge does not answer yet, which
	// goes on also where that is suspended.
	resting atomic.Bool

	// These are guarded by openCalls.mu. watched is set for a request that
	// may go on only as long as its key and its bridge are there.
	watched   bool
	principal principal
	bridge    types.UID
	ending    *problem
	endAt     time.Time

	// life guards the connection's deadlines against use after the end.
	life sync.Mutex
	over bool
}

// deadline sets when writing to the client fails, while the call is served.
func (c *openCall) deadline(at time.Time) {
	c.life.Lock()
	defer c.life.Unlock()
	if !c.over {
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(at)
	}
}

// endedWell reports whether a call that was ended by us has an answer that may
// stop where it is: a stream of events, between two of them.
func (c *openCall) endedWell(ctx context.Context) bool {
	if c == nil || endedBy(ctx) == nil {
		return false
	}
	c.close() // A comment on its way is no reason to cut the stream.
	return c.betweenEvents()
}

// endedBy returns why the request of ctx was ended by us, or nil.
func endedBy(ctx context.Context) *problem {
	p, _ := errors.AsType[*problem](context.Cause(ctx))
	return p
}

// openCalls are all requests that are being served. One timer looks at them,
// and only while there are some; a request of its own has no goroutine here
// and no timer.
type openCalls struct {
	routes       Routes
	metrics      *callMetrics
	keepAlive    time.Duration
	writeTimeout time.Duration
	drainTimeout time.Duration

	mu       sync.Mutex
	calls    map[*openCall]struct{}
	timer    *time.Timer
	armed    bool
	draining time.Time
}

func newOpenCalls(config Config, routes Routes, m *callMetrics) *openCalls {
	return &openCalls{
		routes: routes, metrics: m, calls: map[*openCall]struct{}{},
		keepAlive:    cmp.Or(config.KeepAlive, keepAliveEvery),
		writeTimeout: cmp.Or(config.WriteTimeout, writeTimeout),
		drainTimeout: config.DrainTimeout,
	}
}

// open begins to look after c.
func (o *openCalls) open(c *openCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[c] = struct{}{}
	if o.armed {
		return
	}
	o.armed = true
	if o.timer == nil {
		o.timer = time.AfterFunc(sweepEvery, o.sweep)
		return
	}
	o.timer.Reset(sweepEvery)
}

// end is after c's handler. What net/http then still has to write is bounded
// like everything before.
func (o *openCalls) end(c *openCall) {
	c.close()
	o.mu.Lock()
	delete(o.calls, c)
	ended := c.ending != nil
	o.mu.Unlock()
	if !ended {
		c.deadline(time.Now().Add(o.writeTimeout))
	}
	c.life.Lock()
	c.over = true
	c.life.Unlock()
}

// watch has c end when p's key no longer opens p's bridge, or the bridge is
// another or none, unless it does already.
func (o *openCalls) watch(c *openCall, p principal, bridge types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.watched {
		return
	}
	c.watched, c.principal, c.bridge = true, p, bridge
}

// drain begins to end calls, as Server.Drain says.
func (o *openCalls) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.draining = time.Now()
}

// sweep looks at each open call once.
func (o *openCalls) sweep() {
	now := time.Now()
	f := o.look(now)
	for _, c := range f.ended {
		o.metrics.ended.WithLabelValues(c.ending.code).Inc()
		c.cancel(c.ending)
		c.deadline(now.Add(endWithin))
	}
	for _, c := range f.stuck {
		o.metrics.ended.WithLabelValues("slow_reader").Inc()
		c.deadline(now.Add(-time.Second))
	}
	for _, c := range f.silent {
		go func() {
			if c.keepAlive() {
				o.metrics.keptAlive.Inc()
			}
		}()
	}
}

// found are the calls for which something is to be done: those that have to
// end, those whose client takes nothing, and streams that want a comment.
type found struct{ ended, stuck, silent []*openCall }

// look finds them, and arms the timer anew while there are calls.
func (o *openCalls) look(now time.Time) (f found) {
	t, at := o.routes.Current(), ticks()
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.calls {
		switch since := c.writing.Load(); {
		case o.ends(c, t, now):
			f.ended = append(f.ended, c)
		case since != 0 && at-since > int64(o.writeTimeout):
			f.stuck = append(f.stuck, c)
		case since == 0 && c.events.Load() && at-c.wrote.Load() >= int64(o.keepAlive):
			f.silent = append(f.silent, c)
		}
	}
	if o.armed = len(o.calls) > 0; o.armed {
		o.timer.Reset(sweepEvery)
	}
	return f
}

// ends reports whether c has to end now, and did not have to before.
func (o *openCalls) ends(c *openCall, t *route.Table, now time.Time) bool {
	if c.ending != nil {
		return false
	}
	if c.watched && t != nil {
		c.ending = revoked(c, t, now)
	}
	if c.ending == nil && !o.draining.IsZero() && o.drained(c, now) {
		c.ending = errEnding
	}
	return c.ending != nil
}

// drained reports whether the drain has come to c.
func (o *openCalls) drained(c *openCall, now time.Time) bool {
	if left := o.drainTimeout - now.Sub(o.draining); o.drainTimeout > 0 && left <= min(drainLead, o.drainTimeout/2) {
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
func (c *openCall) listens() bool {
	opened := c.method == http.MethodGet && c.record.route == routeMCP || c.listening.Load()
	return opened && c.events.Load()
}

// revoked returns why c's caller would no longer be let in.
func revoked(c *openCall, t *route.Table, now time.Time) *problem {
	if !c.principal.admitted(t, now) || c.principal.ended(now) && c.listens() {
		return errUnauthorized
	}
	switch b, ok := t.Lookup(c.principal.user); {
	case !ok || b.BridgeUID != c.bridge:
		return errNotFound
	case b.State == route.Suspended && !c.resting.Load():
		return errSuspended
	}
	return nil
}

// watchCall ends the request when its key or its bridge goes. It has no answer
// of its own: a bridge that is not there is found out by those who look for it.
func (s *Server) watchCall(c *gin.Context) {
	p, rec := principalOf(c), recordOf(c.Request.Context())
	if t := s.routes.Current(); t != nil && rec.call != nil {
		if b, ok := t.Lookup(p.user); ok && b.State != route.Suspended {
			s.calls.watch(rec.call, p, b.BridgeUID)
		}
	}
	c.Next()
}
