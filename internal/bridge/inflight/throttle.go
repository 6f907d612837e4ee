// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"sync"
	"time"
)

// Throttle limits how often functions of each kind are called: the first one is called at once. Of
// those that follow too soon, only the last one is called, later.
type Throttle struct {
	mu    sync.Mutex
	kinds map[string]*throttled
}

// throttled is the state of one kind.
type throttled struct {
	last time.Time
	next func() // the function that waits, or nil
}

// Do calls f now, or after pace has passed since the last call of its kind. A waiting f is dropped
// if another f of its kind arrives or over is closed.
func (p *Throttle) Do(kind string, pace time.Duration, over <-chan struct{}, f func()) {
	p.mu.Lock()
	if p.kinds == nil {
		p.kinds = map[string]*throttled{}
	}
	k := p.kinds[kind]
	if k == nil {
		k = &throttled{}
		p.kinds[kind] = k
	}
	now := time.Now()
	if wait := k.last.Add(pace).Sub(now); k.next != nil || wait > 0 {
		if k.next == nil {
			time.AfterFunc(wait, func() { p.catchUp(k, over) })
		}
		k.next = f
		p.mu.Unlock()
		return
	}
	k.last = now
	p.mu.Unlock()
	f()
}

// catchUp calls the waiting function.
func (p *Throttle) catchUp(k *throttled, over <-chan struct{}) {
	p.mu.Lock()
	f := k.next
	k.next, k.last = nil, time.Now()
	p.mu.Unlock()
	if !Closed(over) {
		f()
	}
}

// Pending reports whether a function of the kind waits.
func (p *Throttle) Pending(kind string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[kind]
	return k != nil && k.next != nil
}
