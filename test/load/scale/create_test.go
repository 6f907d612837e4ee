// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// inFlight bounds the creations under way: an API server that takes fewer than
// are offered is not buried.
const inFlight = 64

// create applies tenants from one to another at a rate, each at its time whether
// or not those before it are done; at rate 0 as fast as the API server takes
// them. It returns how many a second were taken.
func (p *plane) create(t *testing.T, w *watcher, from, to int, rate float64) float64 {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(inFlight)
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := from; i < to; i++ {
		due := time.Now()
		if rate > 0 {
			due = began.Add(time.Duration(float64(i-from) / rate * float64(time.Second)))
			timer.Reset(time.Until(due))
			<-timer.C
		}
		w.applying(i, due)
		group.Go(func() error {
			_, err := p.dynamic.Resource(w.contender.tenant).Namespace(namespaceOf(i)).Create(t.Context(), w.contender.object(i), metav1.CreateOptions{})
			return err
		})
	}
	must.Succeed(t, group.Wait())
	return float64(to-from) / time.Since(began).Seconds()
}

// each does something for each tenant, several at a time.
func each(t *testing.T, from, to int, do func(i int) error) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(inFlight)
	var failed atomic.Int64
	for i := from; i < to; i++ {
		group.Go(func() error {
			err := do(i)
			if err != nil {
				failed.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("%d failed, the first with: %v", failed.Load(), err)
	}
}

// Provision is what it took to bring a number of tenants up.
type Provision struct {
	// Tenants are how many there are then, Added how many of them came now.
	Tenants int `json:"tenants"`
	Added   int `json:"added"`
	// Taken is how many creations a second the API server took.
	Taken    float64 `json:"createdPerSecond"`
	Children Latency `json:"applyToChildren"`
	Ready    Latency `json:"applyToReady"`
	// Late are those that had no children, or were not ready, at the limit.
	Late int `json:"late"`
	// Seconds is how long it took from the first creation until all was calm.
	Seconds float64 `json:"seconds"`
	// Writes are those of the contender's processes for each tenant, Kinds the
	// same by what it was.
	Writes map[string]float64 `json:"writesPerTenant"`
	Kinds  map[string]string  `json:"writesPerTenantByKind"`
	// Reconcile is by the operator's own metrics.
	Reconcile Latency `json:"reconcile"`
	// CPU is in milliseconds for each tenant.
	CPU    map[string]float64      `json:"cpuMillisecondsPerTenant"`
	Memory map[string]world.Memory `json:"memory"`
	Etcd   Etcd                    `json:"etcd"`
}

// subject is a contender that runs on a plane.
type subject struct {
	plane *plane
	watch *watcher
	// accounts are whose writes count, programs whose memory and time.
	accounts []string
	programs func() map[string]*world.Process
	// controller is the name of its controller in metrics, operator who has them.
	controller string
	operator   func() *world.Process
	// slowest is how long one tenant may take, where there are many.
	slowest time.Duration
}

// provision brings up the tenants from one to another, and measures it.
func (s *subject) provision(t *testing.T, from, to int, rate float64) Provision {
	t.Helper()
	p := s.plane
	before, cpu, times := p.audit.writes(), s.cpuTimes(t), s.reconciles(t)
	began := time.Now()
	r := Provision{Tenants: to, Added: to - from, Writes: map[string]float64{}, Kinds: map[string]string{}, CPU: map[string]float64{}}
	r.Taken = p.create(t, s.watch, from, to, rate)
	r.Late = s.watch.await(t, from, to, s.limit(to-from), func(_ int, l life) bool { return !l.children.IsZero() && !l.ready.IsZero() })
	calm := p.audit.settle(t, 10*time.Second, s.limit(to-from))
	r.Seconds = calm.Sub(began).Seconds()
	r.Children = s.watch.latency(from, to, func(l life) time.Time { return l.children })
	r.Ready = s.watch.latency(from, to, func(l life) time.Time { return l.ready })
	written := p.audit.since(before)
	for _, account := range s.accounts {
		r.Writes[account] = float64(written.of(account)) / float64(to-from)
		r.Kinds[account] = written.perTenant(account, to-from)
	}
	for name, after := range s.cpuTimes(t) {
		r.CPU[name] = float64((after - cpu[name]).Milliseconds()) / float64(to-from)
	}
	r.Reconcile = s.reconciles(t).since(times)
	r.Memory, r.Etcd = s.memory(t), p.etcdSize(t)
	t.Logf("%s: %d tenants after %.0f s, %d late; children p99 %.2f s, ready p99 %.2f s; writes %v", s.watch.contender.name, to, r.Seconds, r.Late, r.Children.P99, r.Ready.P99, r.Writes)
	return r
}

// limit is how long so many tenants may take. A machine on which it takes longer
// is too slow for what this measures.
func (s *subject) limit(tenants int) time.Duration {
	return time.Minute + time.Duration(tenants)*s.slowest
}

func (s *subject) cpuTimes(t *testing.T) map[string]time.Duration {
	t.Helper()
	times := map[string]time.Duration{}
	for name, p := range s.programs() {
		times[name] = p.CPU()
	}
	return times
}

func (s *subject) memory(t *testing.T) map[string]world.Memory {
	t.Helper()
	all := map[string]world.Memory{}
	for name, p := range s.programs() {
		all[name] = p.Memory(t)
	}
	return all
}
