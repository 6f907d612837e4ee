// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"sync"
	"time"
)

// paced does things of several kinds, each kind not too often: the first at once
// and of those that come too soon the last, later.
type paced struct {
	mu    sync.Mutex
	kinds map[string]*pacing
}

// pacing is what paced knows of one kind.
type pacing struct {
	last time.Time
	next func() // what waits, nil for nothing
}

// do calls f now, or when pace has passed since the last of its kind unless
// another one has come by then or over is closed.
func (p *paced) do(kind string, pace time.Duration, over <-chan struct{}, f func()) {
	p.mu.Lock()
	if p.kinds == nil {
		p.kinds = map[string]*pacing{}
	}
	k := p.kinds[kind]
	if k == nil {
		k = &pacing{}
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

// catchUp does what waits.
func (p *paced) catchUp(k *pacing, over <-chan struct{}) {
	p.mu.Lock()
	f := k.next
	k.next, k.last = nil, time.Now()
	p.mu.Unlock()
	if !closed(over) {
		f()
	}
}
