// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// firstBridges get a change before the others, by lead. A server that does not
	// answer is usually known within that time.
	firstBridges = 5
	lead         = 30 * time.Second
)

// Pacer gives each bridge a time from which a change of a profile may reach it. The zero
// Pacer is ready for use, also by several goroutines.
type Pacer struct {
	mu       sync.Mutex
	rollouts map[types.UID]*rollout
}

// rollout is the change of one profile to one generation.
type rollout struct {
	generation int64
	began      time.Time
	next       time.Time
	times      map[types.UID]time.Time
}

// Wait returns for how long the bridge has to wait for the generation of the profile.
func (p *Pacer) Wait(profile types.UID, generation int64, perSecond int32, bridge types.UID, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rollouts[profile]
	if r == nil || r.generation != generation {
		r = &rollout{generation: generation, began: now, next: now.Add(lead), times: map[types.UID]time.Time{}}
		if p.rollouts == nil {
			p.rollouts = map[types.UID]*rollout{}
		}
		p.rollouts[profile] = r
	}
	at, known := r.times[bridge]
	if !known {
		if at = now; len(r.times) >= firstBridges {
			if at = r.next; at.Before(now) {
				at = now
			}
			r.next = at.Add(time.Second / time.Duration(max(perSecond, 1)))
		}
		r.times[bridge] = at
	}
	return max(0, at.Sub(now))
}

// Forget drops what is known of a profile's rollout, which is over.
func (p *Pacer) Forget(profile types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rollouts, profile)
}
