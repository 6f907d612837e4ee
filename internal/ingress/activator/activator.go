// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Routes is what is known of users, keys and pods.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
	// Changed returns a channel that is closed at the next snapshot.
	Changed() <-chan struct{}
}

// Options are what an Activator stands on.
type Options struct {
	Routes Routes
	// Wake has a bridge woken that sleeps, and may find that it does not. It does
	// not wait for the bridge.
	Wake func(context.Context, route.Backend) error
	// Ready returns nil if the bridge is ready, by its own word.
	Ready func(context.Context, route.Backend) error
	// MaxWaitingPerUser and MaxWaiting bound the requests that wait at once.
	MaxWaitingPerUser, MaxWaiting int

	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Activator finds the pod for a request, and lets the request wait where the pod is
// on its way. Where the bridge sleeps, it is woken. How long is bounded by the
// caller's deadline, how many by two limits, because each waiting request keeps
// its body in memory.
type Activator struct {
	routes     Routes
	failed     *failedPods
	candidates *readinessProber
	metrics    *metrics
	wakes      *wakeQueue
	waiting    *limits.Slots
	// beside are the wakes that no request waits for.
	beside sync.WaitGroup
}

// New returns an Activator.
func New(o Options) (*Activator, error) {
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	wm, err := newWakeMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	f := &failedPods{}
	candidates, err := newReadinessProber(o.Routes, f, o.Ready, o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Activator{
		routes: o.Routes, failed: f, candidates: candidates, metrics: m,
		wakes: newWakeQueue(o.Wake, wm, o.Log), waiting: limits.NewSlots(o.MaxWaitingPerUser, o.MaxWaiting),
	}, nil
}

// Backend returns the pod to which a request of p may go now. It waits until
// deadline for a bridge that is starting, asleep or whose route was dropped, and
// then returns problems.Starting, problems.Asleep or problems.Unreachable. Other errors: problems.Unauthorized and
// problems.NotFound when key or bridge have gone meanwhile, problems.Suspended, problems.Blocked,
// problems.TooManyHeld, problems.NotReady, and the context's. Held is how long the request waited.
func (a *Activator) Backend(ctx context.Context, p authn.Principal, deadline time.Time) (b route.Backend, held time.Duration, err error) {
	b, err = a.resolve(p, time.Now())
	if !waitable(err) {
		return b, 0, err
	}
	if !a.waiting.Take(p.User) {
		return route.Backend{}, 0, problems.TooManyHeld
	}
	a.metrics.holding.Inc()
	defer func() {
		a.metrics.holding.Dec()
		a.waiting.Give(p.User)
	}()
	start, slept := time.Now(), errors.Is(err, problems.Asleep)
	b, err = a.await(ctx, p, deadline)
	held = time.Since(start)
	if slept && err == nil {
		a.wakes.metrics.waiting.Observe(held.Seconds())
	}
	a.metrics.held.WithLabelValues(holdOutcome(ctx, err)).Observe(held.Seconds())
	return b, held, err
}

// Absent reports whether a request of p would wait for its pod now.
func (a *Activator) Absent(p authn.Principal) bool {
	_, err := a.resolve(p, time.Now())
	return waitable(err)
}

// WakeBeside has p's bridge woken if it sleeps, and does not wait for that.
func (a *Activator) WakeBeside(ctx context.Context, p authn.Principal) {
	b, err := a.lookup(p, time.Now())
	if err != nil || b.State != route.Sleeping {
		return
	}
	a.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), besideTimeout)
		defer cancel()
		a.wake(ctx, p, b)
	})
}

// Wait returns when no wake is under way that no request waits for.
func (a *Activator) Wait() { a.beside.Wait() }

func (a *Activator) await(ctx context.Context, p authn.Principal, deadline time.Time) (route.Backend, error) {
	waiting, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	retry := time.NewTicker(DropFor)
	defer retry.Stop()
	a.candidates.join(ctx, p.User)
	defer a.candidates.leave(p.User)
	for {
		// Taken before the table is read, so that no change falls between.
		changed, found := a.routes.Changed(), a.candidates.found(p.User)
		b, err := a.resolve(p, time.Now())
		if !waitable(err) {
			return b, err
		}
		if errors.Is(err, problems.Asleep) {
			a.wake(waiting, p, b)
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

// resolve returns p's pod if it can be called at once. With problems.Asleep it returns
// the bridge.
func (a *Activator) resolve(p authn.Principal, now time.Time) (route.Backend, error) {
	b, err := a.lookup(p, now)
	if err != nil {
		return route.Backend{}, err
	}
	switch b.State {
	case route.Ready:
		if a.failed.has(b, now) {
			return route.Backend{}, problems.Unreachable
		}
		return b, nil
	case route.Suspended:
		return route.Backend{}, problems.Suspended
	case route.Sleeping:
		return b, problems.Asleep
	default:
		if b, ok := a.candidates.resolve(b, now); ok {
			return b, nil
		}
		return route.Backend{}, absence(b)
	}
}

// absence returns why a bridge that should run has no pod. What refuses a pod refuses the next one too,
// so a request does not wait for it. Room on a node, and an image, may come in the time that it waits.
func absence(b route.Backend) error {
	words := route.BlockedWords(b.Blocked)
	if words != "" {
		words += " Ask an administrator."
	}
	if b.Blocked == v1alpha1.ReasonPodRefused {
		return problems.Blocked.Saying(words)
	}
	return problems.Starting.Saying(words)
}

// Drop has a pod be left alone for a while, that a request did not get to.
func (a *Activator) Drop(b route.Backend) {
	a.failed.add(b, time.Now())
	a.candidates.forget(b)
}

// lookup returns p's bridge in whatever state.
func (a *Activator) lookup(p authn.Principal, now time.Time) (route.Backend, error) {
	return authn.BridgeOf(a.routes.Current(), p, now)
}

// waitable reports whether time alone may mend err.
func waitable(err error) bool {
	return errors.Is(err, problems.Starting) || errors.Is(err, problems.Unreachable) || errors.Is(err, problems.Asleep)
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

// asleep reports whether p's bridge sleeps, and so has to be woken.
func (a *Activator) asleep(p authn.Principal) bool {
	b, err := a.lookup(p, time.Now())
	return err == nil && b.State == route.Sleeping
}

// wake has p's bridge woken if it sleeps.
func (a *Activator) wake(ctx context.Context, p authn.Principal, b route.Backend) {
	a.wakes.begin(ctx, b, func() bool { return a.asleep(p) })
}

// LeavesAlone reports whether a request did not get to b's pod a moment ago, so that
// no other is sent there.
func (a *Activator) LeavesAlone(b route.Backend) bool { return a.failed.has(b, time.Now()) }

// Probed is of how many bridges the pods are asked whether they are ready.
func (a *Activator) Probed() int {
	a.candidates.mu.Lock()
	defer a.candidates.mu.Unlock()
	return len(a.candidates.seekers)
}

// Waiting is how many requests wait.
func (a *Activator) Waiting() int { return a.waiting.Taken() }
