// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profilediff

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// keptPreviews and keptFor bound what is kept, so that an administrator who turns the pages
	// of a result has no objects read again. A result of 10,000 people who all lose a server is
	// some 160 KB.
	keptPreviews = 8
	keptFor      = 5 * time.Minute
)

// Previews says what profiles would change. It reads the objects of one question at a time, and
// keeps the last results. It is safe for concurrent use.
type Previews struct {
	source Source
	tiers  func() quota.Tiers
	now    func() time.Time
	turn   chan struct{} // Full while objects are read.

	mu   sync.Mutex
	kept []kept
}

type kept struct {
	question string
	preview  profile.Preview
	at       time.Time
}

// NewPreviews returns what says what profiles would change.
func NewPreviews(source Source, tiers func() quota.Tiers, now func() time.Time) *Previews {
	return &Previews{source: source, tiers: tiers, now: now, turn: make(chan struct{}, 1)}
}

// Of returns what a profile would change, and when that was computed. With again it reads all
// objects, also if the result is kept.
func (p *Previews) Of(ctx context.Context, given v1alpha1.BridgeProfile, again bool) (profile.Preview, time.Time, error) {
	spec, err := json.Marshal(given.Spec)
	if err != nil {
		return profile.Preview{}, time.Time{}, fmt.Errorf("write a profile: %w", err)
	}
	question := given.Name + " " + string(spec)
	if found, ok := p.find(question); ok && !again {
		return found.preview, found.at, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return profile.Preview{}, time.Time{}, fmt.Errorf("wait for another preview: %w", ctx.Err())
	}
	found := kept{question: question, at: p.now()}
	err = p.source.compare(ctx, p.tiers(), []v1alpha1.BridgeProfile{given}, func(b *v1alpha1.HostedBridge, changes []profile.Change, selected []string) error {
		found.preview.Add(b.User(), changes)
		if slices.Contains(selected, given.Name) {
			found.preview.Selected++
		}
		return nil
	})
	if err != nil {
		return profile.Preview{}, time.Time{}, err
	}
	found.preview.Sort()
	p.keep(found)
	return found.preview, found.at, nil
}

func (p *Previews) find(question string) (kept, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(k kept) bool { return p.now().Sub(k.at) > keptFor })
	at := slices.IndexFunc(p.kept, func(k kept) bool { return k.question == question })
	if at < 0 {
		return kept{}, false
	}
	return p.kept[at], true
}

func (p *Previews) keep(found kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(slices.DeleteFunc(p.kept, func(k kept) bool { return k.question == found.question }), found)
	p.kept = p.kept[max(0, len(p.kept)-keptPreviews):]
}
