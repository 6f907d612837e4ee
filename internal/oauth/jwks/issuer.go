// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// fetch gets the keys of an issuer.
type fetch func(ctx context.Context) (jose.JSONWebKeySet, error)

// issuer has the keys of one. Only keep fetches them, one fetch at a time.
type issuer struct {
	fetch    fetch
	maxStale time.Duration
	// wanted has a request to fetch the keys now.
	wanted chan struct{}

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// good is when the last fetch began that has keys, and tried when the last did.
	good, tried time.Time
	trying      bool
	// err is how the last fetch went.
	err error
	// next is closed when the fetch ends that is under way, or else the next one.
	next chan struct{}
}

// keep fetches the keys of an issuer until ctx ends.
func (s *Set) keep(ctx context.Context, name string, i *issuer) {
	for {
		pause := s.options.Every
		if err := s.refresh(ctx, name, i); err != nil {
			if ctx.Err() != nil {
				return
			}
			pause = again
			s.options.Log.WarnContext(ctx, "the keys of an issuer could not be fetched", "issuer", name, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-i.wanted:
		case <-s.options.Clock.After(spread(pause)):
		}
	}
}

// spread returns d give or take a tenth, so that replicas do not ask all at once.
func spread(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5) //nolint:gosec // Spreading load needs no secret randomness.
}

// refresh fetches the keys once.
func (s *Set) refresh(ctx context.Context, name string, i *issuer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := s.options.Clock.Now()
	i.begin(began)
	set, err := i.fetch(ctx)
	keys := usable(set)
	if err == nil && len(keys) == 0 {
		err = errors.New("it has no public key")
	}
	i.end(keys, began, err)
	s.metrics.fetched(name, began, err)
	if err != nil {
		return fmt.Errorf("fetch keys: %w", err)
	}
	return nil
}

// usable returns the keys that are not secrets, which verify and would sign as
// well.
func usable(set jose.JSONWebKeySet) []jose.JSONWebKey {
	var keys []jose.JSONWebKey
	for _, k := range set.Keys {
		if k.Valid() && k.IsPublic() {
			keys = append(keys, k)
		}
	}
	return keys
}

func (i *issuer) begin(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tried, i.trying = now, true
	select { // Whoever wanted this waits for what begins now.
	case <-i.wanted:
	default:
	}
}

func (i *issuer) end(keys []jose.JSONWebKey, began time.Time, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err, i.trying = err, false; err == nil {
		i.keys, i.good = keys, began
	}
	close(i.next)
	i.next = make(chan struct{})
}

// find returns the keys of that id. If none is known and it is time to ask, it
// has them fetched and returns what is closed afterwards.
func (i *issuer) find(kid string, now time.Time) ([]jose.JSONWebKey, <-chan struct{}, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys, err := i.known(kid, now)
	if len(keys) > 0 {
		return keys, nil, nil
	}
	switch {
	case i.trying:
	case i.tried.IsZero() || now.Sub(i.tried) >= gap:
		select {
		case i.wanted <- struct{}{}:
		default: // Somebody else wants it already.
		}
	default:
		return nil, nil, err
	}
	return nil, i.next, nil
}

// found returns the keys of that id after they were fetched.
func (i *issuer) found(kid string, now time.Time) ([]jose.JSONWebKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.known(kid, now)
}

// known returns the known keys of that id. An empty result is certain only
// after a successful fetch. The caller holds i.mu.
func (i *issuer) known(kid string, now time.Time) ([]jose.JSONWebKey, error) {
	if i.good.IsZero() || now.Sub(i.good) > i.maxStale {
		if i.err != nil {
			return nil, i.err
		}
		return nil, errStale
	}
	if kid == "" {
		return i.keys, nil
	}
	var keys []jose.JSONWebKey
	for _, k := range i.keys {
		if k.KeyID == kid {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, i.err
	}
	return keys, nil
}
