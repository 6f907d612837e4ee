// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// office is held by the replica that leads.
type office struct {
	mu     sync.Mutex
	holder *process
	since  time.Time
	// vacant is how long nobody held it after somebody had.
	vacant time.Duration
}

func (o *office) taken(k *process) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holder == nil && !o.since.IsZero() {
		o.vacant += time.Since(o.since)
	}
	o.holder = k
}

func (o *office) left(k *process) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holder == k {
		o.holder, o.since = nil, time.Now()
	}
}

// leader returns who leads, nil if nobody does.
func (o *office) leader() *process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holder
}

// vacancy returns how long nobody has led in all, between leaders.
func (o *office) vacancy() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.vacant
}

// replicas are the two keybrokers of an installation.
type replicas struct {
	office
	program *program

	// ready are what the Service leads to, guarded by the same mutex: one that
	// was killed stays among them until another has taken its place, since
	// endpoints lag.
	ready [2]*process
	// all are those that there ever were.
	all []*process
}

// run starts two keybrokers and waits until both are ready.
func (p *program) run(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{program: p}
	started := [2]*process{r.start(t), r.start(t)}
	for i, k := range started {
		r.until(t, "both are ready", k.ready)
		r.ready[i] = k
	}
	return r
}

func (r *replicas) start(t *testing.T) *process {
	t.Helper()
	k := r.program.start(t, &r.office)
	r.all = append(r.all, k)
	return k
}

// until waits, at most ten minutes, for what the keybrokers or somebody does.
func (r *replicas) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	wait.UntilWithin(t, 10*time.Minute, what, func() bool {
		if slices.ContainsFunc(r.all, func(k *process) bool { return k.Crashed() }) {
			t.Fatalf("%s: a keybroker has ended by itself", what)
		}
		return ok()
	})
}

// lead is for until: the leader, which may be another each time, is as wanted.
func (r *replicas) lead(ok func(k *process) bool) func() bool {
	return func() bool {
		k := r.leader()
		return k != nil && ok(k)
	}
}

// rings is for until: all rings are as wanted.
func (r *replicas) rings(ok func(masterkey.Status) bool) func() bool {
	return func() bool {
		for _, k := range r.both() {
			if !ok(k.ring()) {
				return false
			}
		}
		return true
	}
}

// both returns the two that are ready, or were.
func (r *replicas) both() [2]*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready
}

// replace kills one of both and starts another, which takes its place when it
// is ready and somebody has noticed. So there is always one.
func (r *replicas) replace(t *testing.T, killed *process, noticed func() bool) {
	t.Helper()
	killed.kill()
	fresh := r.start(t)
	r.until(t, "the replica that replaces a killed one is ready", fresh.ready)
	r.until(t, "somebody asks the killed one", noticed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready[slices.Index(r.ready[:], killed)] = fresh
}
