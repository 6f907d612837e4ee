// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// cutoffLife is how long a cutoff is kept: longer than a grant can last, for which at
// most a year can be configured.
const cutoffLife = 366 * 24 * time.Hour

// cutoffTries is how often a cutoff is stored again after a conflict with another
// request.
const cutoffTries = 5

// errCutoffs says that each try met a conflict.
var errCutoffs = errors.New("the logins of the user are being ended by others")

// cutoff is the entry of a user whose logins an administrator ended. Grants of people
// who logged in until then are not refreshed.
type cutoff struct {
	At time.Time `json:"at"`
}

// EndAll ends all grants for a user's bridge.
func (s *Grants) EndAll(ctx context.Context, user v1alpha1.UserID) error {
	at := s.Now()
	value, ends := jsondoc.EncodeExact(cutoff{at}), at.Add(cutoffLife)
	for range cutoffTries {
		err := s.Store.Put(ctx, flow.KindCutoff, string(user), value, ends)
		if errors.Is(err, flow.ErrExists) {
			err = s.replaceCutoff(ctx, user, value, ends)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, flow.ErrNotFound) {
			return fmt.Errorf("store end of logins: %w", err)
		}
	}
	return fmt.Errorf("store end of logins: %w", errCutoffs)
}

// replaceCutoff replaces a user's cutoff. Its error is flow.ErrNotFound if another
// request has replaced it meanwhile.
func (s *Grants) replaceCutoff(ctx context.Context, user v1alpha1.UserID, value []byte, ends time.Time) error {
	former, err := s.Store.Get(ctx, flow.KindCutoff, string(user))
	if err != nil {
		return err
	}
	return s.Store.Swap(ctx, flow.KindCutoff, string(user), former, value, ends)
}

// Ended reports whether EndAll was called for a user after a login began, or at that
// time.
func (s *Grants) Ended(ctx context.Context, began time.Time, user v1alpha1.UserID) (bool, error) {
	value, err := s.Store.Get(ctx, flow.KindCutoff, string(user))
	if errors.Is(err, flow.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read end of logins: %w", err)
	}
	var c cutoff
	if err := json.Unmarshal(value, &c); err != nil {
		return false, fmt.Errorf("decode end of logins: %w", err)
	}
	return !began.After(c.At), nil
}
