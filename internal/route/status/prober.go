// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// probeInterval between the probes of one bridge. A bridge probes its servers
	// as often, so that asking more often would tell nothing new.
	probeInterval = time.Minute
	// connectingInterval is the interval while a bridge still connects to a server: its
	// user waits for the tools. After a bridge was told of its secrets it is the
	// first interval, and doubles up to the other while they stay as they were:
	// then it is the keybroker that the bridge waits for.
	connectingInterval = 2 * time.Second
	// failureInterval is the interval after a bridge did not answer. It doubles up to
	// interval, or the pods of one dead node would use up all probes.
	failureInterval = 5 * time.Second
	// probeTimeout of one probe.
	probeTimeout = 5 * time.Second
	// scanInterval is how often due probes are looked for, and settle how soon again
	// after a change: looking at 10,000 bridges takes a millisecond.
	scanInterval = time.Second
	settleTime   = 100 * time.Millisecond
	// maxProbes bounds the probes under way. 10,000 bridges in a minute are
	// 167 a second, of some milliseconds each; the rest is for those who let
	// the timeout pass: of 64, 5 s each and once a minute, up to 768 bridges.
	maxProbes = 64
	// reloadProbes is how often a bridge is asked, at connectingInterval, after its servers
	// have changed: the kubelet shows it its configuration within some seconds.
	reloadProbes = 5
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

// probeState is what is known of one bridge.
type probeState struct {
	pod    types.UID
	report *health.Report
	due    time.Time
	asking bool
	// secrets is the revision that the bridge should have had at its last
	// probe, and notices counts those in a row that it needed a notice after.
	secrets string
	notices int
	// servers is the digest of the servers that the bridge should have had at its last
	// probe, and reloads counts the probes that follow soon after it has changed.
	servers uint32
	reloads int
	// failures counts the probes without an answer since the last one with, and
	// logged is the last error of these that was logged.
	failures int
	logged   string
	// seen is the last scan that found the bridge running.
	seen uint64
}

// Prober asks every ready bridge for its health, again and again, and keeps the
// last report of each: a question about health is answered from memory and wakes
// no bridge. A bridge whose report shows an old revision of its secrets is told.
type Prober struct {
	routes  Routes
	fetch   Fetch
	notify  Notify
	observe Observe
	log     *slog.Logger
	slots   chan struct{}

	mu      sync.Mutex
	entries map[types.UID]*probeState
	scans   uint64
}

// NewProber returns a prober that does nothing until Run.
func NewProber(routes Routes, fetch Fetch, notify Notify, observe Observe, log *slog.Logger) *Prober {
	return &Prober{
		routes: routes, fetch: fetch, notify: notify, observe: observe, log: log,
		slots: make(chan struct{}, maxProbes), entries: map[types.UID]*probeState{},
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
	ticker := time.NewTicker(scanInterval)
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
			sleep(ctx, settleTime-time.Since(scanned))
		case <-ticker.C:
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
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
			e = &probeState{pod: b.PodUID}
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
// whose secrets or servers have changed is asked at once which it has.
func (e *probeState) begin(b route.Backend, now time.Time) bool {
	changed, others := e.secrets != b.SecretsRevision, e.servers != b.Servers
	if e.asking || now.Before(e.due) && !changed && !others {
		return false
	}
	if others && e.report != nil {
		e.reloads = reloadProbes
	}
	e.servers = b.Servers
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
	r, err := p.fetchReport(ctx, b)
	if err != nil && ctx.Err() == nil && p.isNews(b, err) {
		p.log.WarnContext(ctx, "bridge does not tell its health", "user", b.User, "pod", b.PodName, "error", err)
	}
	stale := err == nil && r.SecretsRevision != b.SecretsRevision
	if p.storeResult(b, r, err) {
		p.observe(ctx, b, r)
		if stale {
			p.notifySecrets(ctx, b)
		}
	}
	p.schedule(b, stale, time.Now())
}

func (p *Prober) fetchReport(ctx context.Context, b route.Backend) (health.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return p.fetch(ctx, b)
}

func (p *Prober) notifySecrets(ctx context.Context, b route.Backend) {
	telling, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := p.notify(telling, b); err != nil && ctx.Err() == nil {
		p.log.WarnContext(ctx, "bridge not told of its secrets", "user", b.User, "pod", b.PodName, "error", err)
	}
}

// isNews reports whether the error is another one than the last, and notes it: a
// bridge whose reports are refused is refused at each probe.
func (p *Prober) isNews(b route.Backend, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[b.BridgeUID]
	if e == nil || e.pod != b.PodUID || e.logged == err.Error() {
		return false
	}
	e.logged = err.Error()
	return true
}

// storeResult stores the outcome and reports whether it is a report of the pod that
// still runs.
func (p *Prober) storeResult(b route.Backend, r health.Report, err error) bool {
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
	e.failures, e.logged = 0, ""
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
	e.due = now.Add(shortenForIdle(e.pause(stale), b))
}

// pause returns how long the next probe waits after one that found the bridge's
// secrets stale or not.
func (e *probeState) pause(stale bool) time.Duration {
	// The shifts are bounded so that they cannot overflow.
	switch {
	case e.failures > 0:
		return min(failureInterval<<min(e.failures-1, 8), probeInterval)
	case stale:
		e.notices++
		return min(connectingInterval<<min(e.notices-1, 8), intervalAfter(*e.report))
	case e.reloads > 0:
		e.reloads--
		return connectingInterval
	case e.notices > 0:
		// Servers reconnect with the new secrets.
		e.notices = 0
		return connectingInterval
	}
	return intervalAfter(*e.report)
}

// shortenForIdle returns pause, or less for a bridge that falls asleep soon: that it is
// busy is known only from its reports.
func shortenForIdle(pause time.Duration, b route.Backend) time.Duration {
	if b.IdleTimeout == 0 {
		return pause
	}
	return min(pause, max(b.IdleTimeout/4, scanInterval))
}

// intervalAfter spreads the probes of many bridges over the interval.
func intervalAfter(r health.Report) time.Duration {
	for _, s := range r.Servers {
		if s.Status == health.Connecting {
			return connectingInterval
		}
	}
	return probeInterval*9/10 + rand.N(probeInterval/5) //nolint:gosec // Spreads load; nothing depends on its being unpredictable.
}
