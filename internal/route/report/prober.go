// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report keeps the last health report of every bridge that runs, so
// that a question about health is answered from memory and wakes nobody. A
// bridge whose report shows that it has other secrets than it should is told.
// The package is a shell: it keeps time and asks.
package report

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// interval between the probes of one bridge. A bridge probes its servers
	// as often, so that asking more often would tell nothing new.
	interval = time.Minute
	// unsettled is the interval while a bridge still connects to a server: its
	// user waits for the tools. After a bridge was told of its secrets it is the
	// first interval, and doubles up to the other while they stay as they were:
	// then it is the keybroker that the bridge waits for.
	unsettled = 2 * time.Second
	// retry is the interval after a bridge did not answer. It doubles up to
	// interval, or the pods of one dead node would use up all probes.
	retry = 5 * time.Second
	// timeout of one probe.
	timeout = 5 * time.Second
	// scan is how often due probes are looked for, and settle how soon again
	// after a change: looking at 10,000 bridges takes a millisecond.
	scan   = time.Second
	settle = 100 * time.Millisecond
	// concurrent bounds the probes under way. 10,000 bridges in a minute are
	// 167 a second, of some milliseconds each; the rest is for those who let
	// the timeout pass: of 64, 5 s each and once a minute, up to 768 bridges.
	concurrent = 64
)

// Routes tells which bridges run.
type Routes interface {
	Current() *route.Table
	Changed() <-chan struct{}
}

// Fetch asks a bridge for its health.
type Fetch func(ctx context.Context, b route.Backend) (health.Report, error)

// Notify tells a bridge that its secrets are others now.
type Notify func(ctx context.Context, b route.Backend) error

// Observe is told of each report.
type Observe func(ctx context.Context, b route.Backend, r health.Report)

// entry is what is known of one bridge.
type entry struct {
	pod    types.UID
	report *health.Report
	due    time.Time
	asking bool
	// secrets is the revision that the bridge should have had at its last
	// probe, and notices counts those in a row that it needed a notice after.
	secrets string
	notices int
	// failures counts the probes without an answer since the last one with.
	failures int
	// seen is the last scan that found the bridge running.
	seen uint64
}

// Prober asks every ready bridge for its health, again and again.
type Prober struct {
	routes  Routes
	fetch   Fetch
	notify  Notify
	observe Observe
	log     *slog.Logger
	slots   chan struct{}

	mu      sync.Mutex
	entries map[types.UID]*entry
	scans   uint64
}

// NewProber returns a prober that does nothing until Run.
func NewProber(routes Routes, fetch Fetch, notify Notify, observe Observe, log *slog.Logger) *Prober {
	return &Prober{
		routes: routes, fetch: fetch, notify: notify, observe: observe, log: log,
		slots: make(chan struct{}, concurrent), entries: map[types.UID]*entry{},
	}
}

// Report returns the last report of a bridge, and whether there is one from
// the pod that runs now. Of a bridge that has failed to answer as often as a
// server may, the report says that it is unhealthy: ready it may be for the
// kubelet on its node, but calls come from here.
func (p *Prober) Report(bridge types.UID) (health.Report, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[bridge]
	if !ok {
		return health.Report{}, false
	}
	r, known := health.Report{Servers: map[string]health.Server{}}, e.report != nil
	if known {
		r = *e.report
	}
	if e.failures >= health.FailureThreshold {
		r.Status, known = health.Unhealthy, true
	}
	return r, known
}

// Run probes until ctx ends and every probe has returned.
func (p *Prober) Run(ctx context.Context) error {
	var probes sync.WaitGroup
	defer probes.Wait()
	ticker := time.NewTicker(scan)
	defer ticker.Stop()
	for {
		changed := p.routes.Changed()
		scanned := time.Now()
		for _, b := range p.due(scanned) {
			select {
			case p.slots <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			probes.Go(func() {
				defer func() { <-p.slots }()
				p.probe(ctx, b)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			pause(ctx, settle-time.Since(scanned))
		case <-ticker.C:
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// due returns the bridges to ask now, marks them as being asked, and forgets
// those that run no more.
func (p *Prober) due(now time.Time) []route.Backend {
	table := p.routes.Current()
	if table == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scans++
	var due []route.Backend
	for b := range table.Backends {
		if b.State != route.Ready {
			continue
		}
		e := p.entries[b.BridgeUID]
		if e == nil || e.pod != b.PodUID {
			e = &entry{pod: b.PodUID}
			p.entries[b.BridgeUID] = e
		}
		e.seen = p.scans
		if e.begin(b, now) {
			due = append(due, b)
		}
	}
	for uid, e := range p.entries {
		if e.seen != p.scans {
			delete(p.entries, uid)
		}
	}
	return due
}

// begin reports whether the bridge is to be asked now, and notes that it is. One
// whose secrets have changed is asked at once which it has.
func (e *entry) begin(b route.Backend, now time.Time) bool {
	changed := e.secrets != b.SecretsRevision
	if e.asking || now.Before(e.due) && !changed {
		return false
	}
	if changed {
		e.secrets, e.notices = b.SecretsRevision, 0
	}
	e.asking = true
	return true
}

// probe asks a bridge for its health, and tells it of its secrets if the report
// shows that it has others. Each probe tells it again, so that a notice that
// was lost is made up for.
func (p *Prober) probe(ctx context.Context, b route.Backend) {
	r, err := p.ask(ctx, b)
	if err != nil && ctx.Err() == nil {
		p.log.WarnContext(ctx, "bridge does not tell its health", "user", b.User, "pod", b.PodName, "error", err)
	}
	stale := err == nil && r.SecretsRevision != b.SecretsRevision
	if p.keep(b, r, err) {
		p.observe(ctx, b, r)
		if stale {
			p.tell(ctx, b)
		}
	}
	p.schedule(b, stale, time.Now())
}

func (p *Prober) ask(ctx context.Context, b route.Backend) (health.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.fetch(ctx, b)
}

func (p *Prober) tell(ctx context.Context, b route.Backend) {
	telling, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := p.notify(telling, b); err != nil && ctx.Err() == nil {
		p.log.WarnContext(ctx, "bridge not told of its secrets", "user", b.User, "pod", b.PodName, "error", err)
	}
}

// keep stores the outcome and reports whether it is a report of the pod that
// still runs.
func (p *Prober) keep(b route.Backend, r health.Report, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[b.BridgeUID]
	if e == nil || e.pod != b.PodUID {
		return false
	}
	if err != nil {
		e.failures++
		return false
	}
	e.failures = 0
	e.report = &r
	return true
}

// schedule says when the bridge is asked again.
func (p *Prober) schedule(b route.Backend, stale bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[b.BridgeUID]
	if e == nil || e.pod != b.PodUID {
		return
	}
	e.asking = false
	e.due = now.Add(within(e.pause(stale), b))
}

// pause returns how long the next probe waits after one that found the bridge's
// secrets stale or not.
func (e *entry) pause(stale bool) time.Duration {
	// The shifts are bounded so that they cannot overflow.
	switch {
	case e.failures > 0:
		return min(retry<<min(e.failures-1, 8), interval)
	case stale:
		e.notices++
		return min(unsettled<<min(e.notices-1, 8), next(*e.report))
	case e.notices > 0:
		// Servers connect anew with the secrets that have come.
		e.notices = 0
		return unsettled
	}
	return next(*e.report)
}

// within returns pause, or less for a bridge that falls asleep soon: that it is
// busy is known only from its reports.
func within(pause time.Duration, b route.Backend) time.Duration {
	if b.IdleTimeout == 0 {
		return pause
	}
	return min(pause, max(b.IdleTimeout/4, scan))
}

// next spreads the probes of many bridges over the interval.
func next(r health.Report) time.Duration {
	for _, s := range r.Servers {
		if s.Status == health.Connecting {
			return unsettled
		}
	}
	return interval*9/10 + rand.N(interval/5) //nolint:gosec // Spreads load; nothing depends on its being unpredictable.
}
