// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// hold finds the pod for a request, and lets the request wait where the pod is
// on its way. How long is bounded by the caller's deadline, how many by two
// limits, because each waiting request keeps its body in memory.
type hold struct {
	routes  Routes
	dropped *dropped
	metrics *metrics
	perUser int
	total   int

	mu      sync.Mutex
	waiting map[v1alpha1.UserID]int
	count   int
}

// backend returns the pod to which a request of p may go now. It waits until
// deadline for a bridge that is starting or whose route was dropped, and then
// returns errStarting or errUnreachable. Other errors: errUnauthorized and
// errNotFound when key or bridge have gone meanwhile, errSuspended,
// errTooManyHeld, errNotReady, and the context's.
func (h *hold) backend(ctx context.Context, p principal, deadline time.Time) (route.Backend, error) {
	b, err := h.resolve(p, time.Now())
	if !waitable(err) {
		return b, err
	}
	if !h.enter(p.user) {
		return route.Backend{}, errTooManyHeld
	}
	defer h.leave(p.user)
	start := time.Now()
	b, err = h.await(ctx, p, deadline)
	elapsed := time.Since(start)
	recordOf(ctx).held += elapsed
	h.metrics.held.WithLabelValues(holdOutcome(ctx, err)).Observe(elapsed.Seconds())
	return b, err
}

func (h *hold) await(ctx context.Context, p principal, deadline time.Time) (route.Backend, error) {
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	retry := time.NewTicker(dropFor)
	defer retry.Stop()
	for {
		// Taken before the table is read, so that no change falls between.
		changed := h.routes.Changed()
		b, err := h.resolve(p, time.Now())
		if !waitable(err) {
			return b, err
		}
		select {
		case <-changed:
		case <-retry.C:
		case <-timeout.C:
			return route.Backend{}, err
		case <-ctx.Done():
			return route.Backend{}, ctx.Err()
		}
	}
}

// resolve returns p's pod if it can be called at once.
func (h *hold) resolve(p principal, now time.Time) (route.Backend, error) {
	b, err := h.lookup(p, now)
	if err != nil {
		return route.Backend{}, err
	}
	switch b.State {
	case route.Ready:
		if h.dropped.has(b, now) {
			return route.Backend{}, errUnreachable
		}
		return b, nil
	case route.Suspended:
		return route.Backend{}, errSuspended
	default:
		return route.Backend{}, errStarting
	}
}

// lookup returns p's bridge in whatever state. Key and bridge come from one
// snapshot: a key that opened a deleted bridge must not open the one that took
// its place.
func (h *hold) lookup(p principal, now time.Time) (route.Backend, error) {
	t := h.routes.Current()
	if t == nil {
		return route.Backend{}, errNotReady
	}
	if !p.admitted(t, now) {
		return route.Backend{}, errUnauthorized
	}
	b, ok := t.Lookup(p.user)
	if !ok {
		return route.Backend{}, errNotFound
	}
	return b, nil
}

// waitable reports whether time alone may mend err.
func waitable(err error) bool {
	return errors.Is(err, errStarting) || errors.Is(err, errUnreachable)
}

func holdOutcome(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "released"
	case ctx.Err() != nil:
		return "canceled"
	default:
		return "refused"
	}
}

func (h *hold) enter(user v1alpha1.UserID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.total || h.waiting[user] >= h.perUser {
		return false
	}
	h.count++
	h.waiting[user]++
	h.metrics.holding.Inc()
	return true
}

func (h *hold) leave(user v1alpha1.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	h.waiting[user]--
	if h.waiting[user] == 0 {
		delete(h.waiting, user)
	}
	h.metrics.holding.Dec()
}
