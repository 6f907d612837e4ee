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

// renewEvery is how often a provider is asked at most who the person of a grant is.
const renewEvery = 5 * time.Minute

// maxTries is how often a grant is replaced that other requests change: those of one
// client that refresh at once.
const maxTries = 10

// errBusy says that other requests have changed a grant in each of maxTries tries.
var errBusy = errors.New("the grant is changed by other requests all the time")

// BeginRenewal reports whether the caller is to ask the provider who the person of a grant
// is. Of several requests one is told so: many providers take a refresh token once, and end
// the login of a person whose token comes twice.
func (s *Grants) BeginRenewal(ctx context.Context, g *Stored) (bool, error) {
	now := s.Now()
	if g.Who.RefreshToken == "" || now.Before(g.Asked.Add(renewEvery)) {
		return false, nil
	}
	changed := g.Grant
	changed.Asked = now
	err := s.replace(ctx, g, changed)
	if errors.Is(err, flow.ErrNotFound) {
		return false, nil // Another request was first, or changed something else.
	}
	return err == nil, err
}

// FinishRenewal stores in a grant who the person is now, beside what other requests have
// changed meanwhile. It returns ErrNotFound if the grant has ended.
func (s *Grants) FinishRenewal(ctx context.Context, g *Stored, who flow.Identity) error {
	for range maxTries {
		changed := g.Grant
		changed.Who = who
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
