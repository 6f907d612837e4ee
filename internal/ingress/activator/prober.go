// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"context"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// ProbePause is between two probes of a candidate, and probeShare the part of
	// the time already waited that it grows to: who waits for long need not be
	// found as exactly, up to probePauseMax.
	ProbePause    = 25 * time.Millisecond
	probePauseMax = 500 * time.Millisecond
	probeShare    = 16
	// probeTimeout is for a connection, a handshake and an answer of some bytes
	// within a cluster, which take milliseconds unless many pods start on a node:
	// giving up on a handshake then has it be done twice.
	probeTimeout = time.Second
	// probesAtOnce bounds the probes under way over all bridges: twice as many as
	// the operator lets start at a time.
	probesAtOnce = 64
	// provenFor is how long a candidate counts as ready without being asked again.
	// The API server says so itself a second or two later; where it does not, the
	// next request that waits asks again.
	provenFor = 5 * time.Second
)

// readinessProber finds pods that are ready before the API server says so, which the
// kubelet tells it up to two seconds late. While requests wait for a bridge, its
// candidate is asked, by one goroutine for all of them. A pod's answer is
// trusted because its certificate proves whose pod it is.
type readinessProber struct {
	routes Routes
	failed *failedPods
	// ready returns nil if the bridge is, by its own word.
	ready  func(ctx context.Context, b route.Backend) error
	probes *prometheus.CounterVec
	slots  chan struct{}
	// proven are the pods that have said so.
	proven expiringSet[bridgeclient.Pod]

	mu      sync.Mutex
	seekers map[v1alpha1.UserID]*podWait
}

// podWait asks the candidates of one user's bridge while requests wait for it.
type podWait struct {
	waiting int
	stop    context.CancelFunc
	found   chan struct{} // Closed when one is ready, and then replaced.
}

func newReadinessProber(routes Routes, d *failedPods, ready func(context.Context, route.Backend) error, reg prometheus.Registerer) (*readinessProber, error) {
	c := &readinessProber{
		routes: routes, failed: d, ready: ready, slots: make(chan struct{}, probesAtOnce),
		seekers: map[v1alpha1.UserID]*podWait{},
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_candidate_probes_total",
			Help: "Questions to pods that are not ready by the API server's word, while requests wait for them, by result: ready or not_ready.",
		}, []string{"result"}),
	}
	telemetry.Begin(c.probes, "ready", "not_ready")
	return c, telemetry.Register(reg, c.probes)
}

// join has the candidates of user's bridge be asked until leave is called as
// often.
func (c *readinessProber) join(ctx context.Context, user v1alpha1.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seekers[user]
	if s == nil {
		// It outlives the request that began it, if others wait.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		s = &podWait{stop: stop, found: make(chan struct{})}
		c.seekers[user] = s
		go c.seek(ctx, user)
	}
	s.waiting++
}

func (c *readinessProber) leave(user v1alpha1.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seekers[user]
	if s.waiting--; s.waiting == 0 {
		s.stop()
		delete(c.seekers, user)
	}
}

// found returns a channel that is closed when the next candidate of user's
// bridge is ready. The caller has joined.
func (c *readinessProber) found(user v1alpha1.UserID) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seekers[user].found
}

// resolve returns the way to the candidate of a bridge that starts, if that has
// said that it is ready.
func (c *readinessProber) resolve(b route.Backend, now time.Time) (route.Backend, bool) {
	if b.Candidate.PodIP == "" {
		return route.Backend{}, false
	}
	b = b.At(b.Candidate)
	return b, c.proven.has(bridgeclient.PodOf(b), now) && !c.failed.has(b, now)
}

// forget makes the prober ask a pod again before its next use.
func (c *readinessProber) forget(b route.Backend) { c.proven.clear(bridgeclient.PodOf(b)) }

// prove notes that a pod is ready, and tells those who wait for it.
func (c *readinessProber) prove(user v1alpha1.UserID, b route.Backend, now time.Time) {
	// Before they are told, so that they find it.
	c.proven.set(bridgeclient.PodOf(b), now.Add(provenFor), now)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.seekers[user]; s != nil {
		close(s.found)
		s.found = make(chan struct{})
	}
}

// seek asks the candidates of user's bridge until ctx ends.
func (c *readinessProber) seek(ctx context.Context, user v1alpha1.UserID) {
	var last bridgeclient.Pod
	var since, next time.Time
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		changed := c.routes.Changed()
		wait := probePauseMax // There is nobody to ask; a change tells.
		if b, ok := c.candidate(user); ok {
			now := time.Now()
			if to := bridgeclient.PodOf(b); to != last {
				last, since, next = to, now, now
			}
			if !now.Before(next) {
				c.probe(ctx, user, b)
				now = time.Now()
				next = now.Add(min(max(now.Sub(since)/probeShare, ProbePause), probePauseMax))
			}
			wait = next.Sub(now)
		}
		pause.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-pause.C:
		}
	}
}

// candidate returns the way to the pod that is to be asked, if there is one.
func (c *readinessProber) candidate(user v1alpha1.UserID) (route.Backend, bool) {
	t := c.routes.Current()
	if t == nil {
		return route.Backend{}, false
	}
	b, ok := t.Lookup(user)
	if !ok || b.State != route.Starting || b.Candidate.PodIP == "" {
		return route.Backend{}, false
	}
	b = b.At(b.Candidate)
	now := time.Now()
	return b, !c.failed.has(b, now) && !c.proven.has(bridgeclient.PodOf(b), now)
}

// probe asks a pod, when it is its turn.
func (c *readinessProber) probe(ctx context.Context, user v1alpha1.UserID, b route.Backend) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return
	}
	asked, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := c.ready(asked, b)
	switch {
	case err == nil:
		c.probes.WithLabelValues("ready").Inc()
		c.prove(user, b, time.Now())
	case ctx.Err() == nil:
		c.probes.WithLabelValues("not_ready").Inc()
	}
}
