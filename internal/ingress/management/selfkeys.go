// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// Keys implements selfservice.KeyActions. While the API server is away it returns the keys
// that are known to work.
func (s *Self) Keys(ctx context.Context, of route.Backend) (selfservice.Keys, error) {
	keys, err := s.o.Keys.List(ctx, bridgeOfKeys(of))
	if err == nil {
		return selfservice.Keys{Keys: keys, Limit: userkey.MaxKeys}, nil
	}
	b, unknown := s.o.Bridge(ctx, of)
	if errors.Is(err, userkey.ErrNoBridge) || unknown != nil {
		return selfservice.Keys{}, keysProblem(err)
	}
	return selfservice.KnownKeys(b), nil
}

// CreateKey implements selfservice.KeyActions.
func (s *Self) CreateKey(ctx context.Context, by selfservice.Actor, of route.Backend, name string, lifetime time.Duration) (selfservice.CreatedKey, error) {
	if err := userkey.CheckName(name); err != nil {
		return selfservice.CreatedKey{}, problems.KeyRequest.Saying(err.Error())
	}
	expiresAt, err := expiryBy(by.KeyEnds(), userkey.Expiry(time.Now(), lifetime))
	if err != nil {
		return selfservice.CreatedKey{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
	defer cancel()
	act := httpapi.Act{Self: true, Name: "keys.create", User: string(of.User)}
	minted, err := s.o.Keys.Create(ctx, bridgeOfKeys(of), name, expiresAt)
	if err != nil {
		return selfservice.CreatedKey{}, keyActFailed(by, act, err)
	}
	act.Target = minted.ID
	if err := by.Audit(act); err != nil {
		return selfservice.CreatedKey{}, err
	}
	return selfservice.CreatedKeyOf(minted, name, time.Now()), nil
}

// expiryBy returns when a key expires that is made with a key that expires at makers, zero for
// never: no key outlives the one that made it, or whoever had one for a time kept access.
func expiryBy(makers, asked time.Time) (time.Time, error) {
	switch {
	case makers.IsZero():
		return asked, nil
	case asked.IsZero():
		return makers, nil
	case asked.After(makers):
		return time.Time{}, problems.KeyRequest.Saying("Your key ends at " + makers.UTC().Format(time.RFC3339) +
			", and a key that it makes ends then at the latest: ask for a shorter time, or leave out expires. An administrator makes keys that are good for longer.")
	}
	return asked, nil
}

// RevokeKey implements selfservice.KeyActions.
func (s *Self) RevokeKey(ctx context.Context, by selfservice.Actor, of route.Backend, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
	defer cancel()
	act := httpapi.Act{Self: true, Name: "keys.revoke", Target: id, User: string(of.User)}
	if err := s.o.Keys.Revoke(ctx, bridgeOfKeys(of), id); err != nil {
		return keyActFailed(by, act, err)
	}
	return by.Audit(act)
}

// keyActFailed returns what the caller may know of err. An act that may have been done is
// one for the audit trail.
func keyActFailed(by selfservice.Actor, act httpapi.Act, err error) error {
	if unsure, ok := errors.AsType[*userkey.UnsureError](err); ok {
		act.Target, act.Unsure = unsure.KeyID, true
		if err := by.Audit(act); err != nil {
			return err
		}
	}
	return keysProblem(err)
}
