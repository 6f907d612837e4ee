// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suspects keeps a record of the server that most likely ends the process if it ends now.
// Nothing runs after an OOM kill, so the record is written before it: into the container's
// termination message file, which the kubelet reports.
//
// A call that is answered at once costs a few additions in memory. Only when a request takes longer
// than a moment, or many bytes pass, a timer compares the servers, and only a change of the result
// is written.
package suspects

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

const (
	// pause is the time from an event to the comparison. Most calls are over by then. To allocate
	// the memory of a small container takes a process longer.
	pause = 20 * time.Millisecond
	// heavy is how many bytes of one server are worth a comparison. A server whose messages are
	// smaller than that in all is not what fills a container's memory.
	heavy = 64 << 10
	// fading is the part of the bytes that have passed lately that each comparison leaves out: half
	// of them are left after a seventh of a second, in which they may still be garbage. The bytes of
	// a request in flight count until it ends.
	fading = 10
)

// Options are what a Watch depends on.
type Options struct {
	// Limit is the container's memory in bytes, 0 for no limit.
	Limit int64
	// Write replaces the record.
	Write func(text string)
	// Used returns the memory of which the container may not use more than Limit, in bytes. The
	// default asks the system.
	Used func() int64
}

// Watch compares how much the servers make the process hold. A nil Watch watches nothing.
type Watch struct {
	options Options
	timer   *time.Timer
	armed   atomic.Bool
	// written says that the record names a server.
	written atomic.Bool

	mu      sync.Mutex
	servers []*traffic
	text    string
	stopped bool
}

// New returns a Watch whose record is empty. Stop ends it.
func New(o Options) *Watch {
	if o.Used == nil {
		o.Used = func() int64 { return used(os.ReadFile) }
	}
	w := &Watch{options: o}
	w.timer = time.AfterFunc(time.Hour, w.compare)
	w.timer.Stop()
	return w
}

// Stop empties the record: an end that was asked for has no suspect.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.record("")
}

// traffic is what passes between the bridge and one server, over all connections.
type traffic struct {
	watch *Watch
	name  string
	// passed counts the bytes of all messages, and held those of the requests in flight.
	passed, held atomic.Int64
	// fresh counts the requests in flight that began after the last comparison, and late those
	// that began before. now numbers the times between comparisons.
	fresh, late, now atomic.Int64

	// passedThen is passed at the last comparison, and lately the bytes that have passed lately,
	// both guarded by Watch.mu.
	passedThen, lately int64
}

// of returns the traffic of the server. The server keeps it when its configuration changes.
func (w *Watch) of(server string) *traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.servers, func(t *traffic) bool { return t.name == server })
	if i >= 0 {
		return w.servers[i]
	}
	t := &traffic{watch: w, name: server}
	w.servers = append(w.servers, t)
	return t
}

// exchange is a request that waits for its answer.
type exchange struct {
	of    *traffic
	since int64
	bytes atomic.Int64
	ended atomic.Bool
}

// begin counts a request until its exchange ends.
func (t *traffic) begin() *exchange {
	x := &exchange{of: t, since: t.now.Load()}
	t.fresh.Add(1)
	t.watch.arm()
	return x
}

// pass counts bytes of the request or its answer.
func (x *exchange) pass(n int64) {
	x.bytes.Add(n)
	x.of.held.Add(n)
	if x.ended.Load() {
		x.release() // A body can be closed while it is read.
	}
	x.of.pass(n)
}

// release gives back the bytes that the exchange holds.
func (x *exchange) release() { x.of.held.Add(-x.bytes.Swap(0)) }

// end ends the exchange, once.
func (x *exchange) end() {
	if x.ended.Swap(true) {
		return
	}
	t := x.of
	x.release()
	late := x.since != t.now.Load()
	// A comparison between here and there moves a request too few, and the next one too many.
	if late {
		t.late.Add(-1)
	} else {
		t.fresh.Add(-1)
	}
	if late || t.watch.written.Load() {
		t.watch.arm() // The record may have to name another server, or none.
	}
}

// pass counts bytes of messages.
func (t *traffic) pass(n int64) {
	after := t.passed.Add(n)
	if after/heavy != (after-n)/heavy {
		t.watch.arm()
	}
}

// arm has the servers compared soon.
func (w *Watch) arm() {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(pause)
	}
}

// compare writes the record if it has changed.
func (w *Watch) compare() {
	w.armed.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	found, changing := w.suspect()
	w.record(found.Text())
	if changing {
		w.arm()
	}
}

// record writes the text if it is another one. The caller holds w.mu.
func (w *Watch) record(text string) {
	if text == w.text {
		return
	}
	w.text = text
	w.written.Store(text != "")
	w.options.Write(text)
}

// suspect returns the record for the present state, and whether the next comparison can have
// another result although no event comes. The caller holds w.mu.
func (w *Watch) suspect() (found health.Suspect, changing bool) {
	var all, most int64
	var heaviest string
	var waiting []string
	for _, t := range w.servers {
		weight, late, more := t.look()
		changing = changing || more
		all += weight
		if weight > most {
			most, heaviest = weight, t.name
		}
		if late {
			waiting = append(waiting, t.name)
		}
	}
	switch {
	case all >= heavy && 2*most > all && w.pressed():
		found = health.Suspect{Server: heaviest, Cause: health.SuspectMemory}
	case len(waiting) == 1:
		found = health.Suspect{Server: waiting[0], Cause: health.SuspectInFlight}
	}
	return found, changing
}

// pressed reports that the process uses half of its container's memory or more. Less than that is
// left for a burst that the next comparisons have to see.
func (w *Watch) pressed() bool {
	return w.options.Limit > 0 && w.options.Used() >= w.options.Limit/2
}

// look returns how many bytes of the server the process may hold, whether a request was in flight
// already at the last comparison, and whether either changes without an event. The caller holds
// Watch.mu.
func (t *traffic) look() (weight int64, late, changing bool) {
	passed := t.passed.Load()
	t.lately += passed - t.passedThen
	t.passedThen = passed
	weight, late = t.lately+t.held.Load(), t.late.Load() > 0
	t.now.Add(1)
	fresh := t.fresh.Swap(0)
	t.late.Add(fresh)
	changing = fresh > 0 || t.lately >= heavy
	t.lately -= t.lately / fading
	if t.lately < heavy {
		t.lately = 0
	}
	return weight, late, changing
}
