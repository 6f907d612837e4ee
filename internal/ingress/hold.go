// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// hold finds the pod for a request, and lets the request wait where the pod is
// on its way. Where the bridge sleeps, it is woken. How long is bounded by the
// caller's deadline, how many by two limits, because each waiting request keeps
// its body in memory.
type hold struct {
	routes     Routes
	dropped    *dropped
	candidates *candidates
	metrics    *metrics
	wakes      *wakes
	waiting    *places
}

// backend returns the pod to which a request of p may go now. It waits until
// deadline for a bridge that is starting, asleep or whose route was dropped, and
// then returns errStarting, errAsleep or errUnreachable. Other errors: errUnauthorized and
// errNotFound when key or bridge have gone meanwhile, errSuspended,
// errTooManyHeld, errNotReady, and the context's.
func (h *hold) backend(ctx context.Context, p principal, deadline time.Time) (route.Backend, error) {
	b, err := h.resolve(p, time.Now())
	if !waitable(err) {
		return b, err
	}
	if !h.waiting.enter(p.user) {
		return route.Backend{}, errTooManyHeld
	}
	h.metrics.holding.Inc()
	defer func() {
		h.metrics.holding.Dec()
		h.waiting.leave(p.user)
	}()
	start, slept := time.Now(), errors.Is(err, errAsleep)
	b, err = h.await(ctx, p, deadline)
	elapsed := time.Since(start)
	recordOf(ctx).held += elapsed
	if slept && err == nil {
		h.wakes.metrics.waiting.Observe(elapsed.Seconds())
	}
	h.metrics.held.WithLabelValues(holdOutcome(ctx, err)).Observe(elapsed.Seconds())
	return b, err
}

func (h *hold) await(ctx context.Context, p principal, deadline time.Time) (route.Backend, error) {
	waiting, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	retry := time.NewTicker(dropFor)
	defer retry.Stop()
	h.candidates.join(ctx, p.user)
	defer h.candidates.leave(p.user)
	for {
		// Taken before the table is read, so that no change falls between.
		changed, found := h.routes.Changed(), h.candidates.found(p.user)
		b, err := h.resolve(p, time.Now())
		if !waitable(err) {
			return b, err
		}
		if errors.Is(err, errAsleep) {
			h.wake(waiting, p, b)
		}
		select {
		case <-changed:
		case <-found:
		case <-retry.C:
		case <-waiting.Done():
			return route.Backend{}, cmp.Or(ctx.Err(), err)
		}
	}
}

// resolve returns p's pod if it can be called at once. With errAsleep it returns
// the bridge.
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
	case route.Sleeping:
		return b, errAsleep
	default:
		if b, ok := h.candidates.resolve(b, now); ok {
			return b, nil
		}
		return route.Backend{}, errStarting
	}
}

// drop has a pod be left alone for a while, that a request did not get to.
func (h *hold) drop(b route.Backend) {
	h.dropped.add(b, time.Now())
	h.candidates.forget(b)
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
	return errors.Is(err, errStarting) || errors.Is(err, errUnreachable) || errors.Is(err, errAsleep)
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

// places are how many may wait for something at once, of one user and in all.
type places struct {
	perUser, total int

	mu    sync.Mutex
	users map[v1alpha1.UserID]int
	count int
}

func newPlaces(perUser, total int) *places {
	return &places{perUser: perUser, total: total, users: map[v1alpha1.UserID]int{}}
}

// enter takes a place, if there is one for the user.
func (p *places) enter(user v1alpha1.UserID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= p.total || p.users[user] >= p.perUser {
		return false
	}
	p.count++
	p.users[user]++
	return true
}

// leave gives back what enter took.
func (p *places) leave(user v1alpha1.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count--
	if p.users[user]--; p.users[user] == 0 {
		delete(p.users, user)
	}
}
