// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// renewEvery is how often a provider is asked at most who the person of a grant is.
	renewEvery = 5 * time.Minute
	// retryEvery is how often it is asked while the grant gives no tokens before that. It
	// is longer than the three or four requests of one renewal, of 10 seconds each.
	retryEvery = time.Minute
	// waitFor is how long a request waits for the one that asks. Common clients wait for
	// 30 seconds.
	waitFor = 20 * time.Second
	// lookEvery is how often it looks meanwhile.
	lookEvery = 200 * time.Millisecond
)

// maxTries is how often a grant is replaced that other requests change: those of one
// client that refresh at once.
const maxTries = 10

// errBusy says that other requests have changed a grant in each of maxTries tries.
var errBusy = errors.New("the grant is changed by other requests all the time")

// ErrUnconfirmed says that the provider has not said for too long who the person of a grant
// is. The grant stays.
var ErrUnconfirmed = errors.New("the provider has not confirmed the person for too long")

// CheckConfirmed returns ErrUnconfirmed if the provider confirmed the person of a grant
// longer ago than grace allows.
func (s *Grants) CheckConfirmed(g *Stored, grace time.Duration) error {
	if !g.isConfirmed(s.Now(), grace) {
		return ErrUnconfirmed
	}
	return nil
}

// isConfirmed reports whether the provider has said within grace who the person is. The
// login counts as such a word.
func (g *Grant) isConfirmed(now time.Time, grace time.Duration) bool {
	last := g.Began
	if g.Confirmed.After(last) {
		last = g.Confirmed
	}
	return now.Before(last.Add(grace))
}

// BeginRenewal reports whether the caller is to ask the provider who the person of a grant
// is. Of several requests one is told so: many providers take a refresh token once, and end
// the login of a person whose token comes twice. The others go on while the person was
// confirmed within grace, and otherwise wait for the one that asks.
func (s *Grants) BeginRenewal(ctx context.Context, g *Stored, grace time.Duration) (bool, error) {
	if g.Who.RefreshToken == "" {
		return false, nil
	}
	now := s.Now()
	confirmed, pause := g.isConfirmed(now, grace), renewEvery
	if !confirmed {
		pause = retryEvery
	}
	if !now.Before(g.Asked.Add(pause)) {
		changed := g.Grant
		changed.Asked, changed.Asking = now, true
		err := s.replace(ctx, g, changed)
		if !errors.Is(err, flow.ErrNotFound) {
			return err == nil, err
		} // Another request was first, or changed something else.
	}
	if confirmed {
		return false, nil
	}
	return false, s.awaitRenewal(ctx, g, grace)
}

// awaitRenewal waits until the request that asks the provider has its answer, and returns
// ErrUnconfirmed unless the provider said who the person is.
func (s *Grants) awaitRenewal(ctx context.Context, g *Stored, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	for {
		var err error
		if *g, err = s.Load(ctx, Credential{Refresh, g.id, ""}); err != nil {
			return err
		}
		if !g.Asking || g.isConfirmed(s.Now(), grace) {
			return s.CheckConfirmed(g, grace)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ErrUnconfirmed
		}
	}
}

// FinishRenewal stores in a grant who the person is now, beside what other requests have
// changed meanwhile. It returns ErrNotFound if the grant has ended.
func (s *Grants) FinishRenewal(ctx context.Context, g *Stored, who flow.Identity) error {
	return s.update(ctx, g, func(g *Grant) { g.Who, g.Confirmed, g.Asking = who, s.Now(), false })
}

// FailRenewal notes that the provider did not say who the person is. It returns ErrNotFound
// if the grant has ended.
func (s *Grants) FailRenewal(ctx context.Context, g *Stored) error {
	return s.update(ctx, g, func(g *Grant) { g.Asking = false })
}

// update stores a change of a grant beside those of other requests.
func (s *Grants) update(ctx context.Context, g *Stored, change func(*Grant)) error {
	for range maxTries {
		changed := g.Grant
		change(&changed)
		err := s.replace(ctx, g, changed)
		if !errors.Is(err, flow.ErrNotFound) {
			return err
		}
		if *g, err = s.Load(ctx, Credential{Refresh, g.id, ""}); err != nil {
			return err
		}
	}
	return errBusy
}

// replace stores a changed grant in place of g, and returns flow.ErrNotFound if another
// request has changed or ended it.
func (s *Grants) replace(ctx context.Context, g *Stored, changed Grant) error {
	value, err := encode(g.id, changed)
	if err != nil {
		return err
	}
	ends := s.Now().Add(s.Idle)
	if changed.Ends.Before(ends) {
		ends = changed.Ends
	}
	if err := s.Store.Swap(ctx, flow.KindGrant, g.key, g.value, value, ends); err != nil {
		return fmt.Errorf("replace grant: %w", err)
	}
	g.Grant, g.value = changed, value
	return nil
}
