// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	// maxAge is the maximum age of the keys that verify a token: a key that the
	// API server has removed is trusted that much longer. Each accepted token
	// costs requests of the API server anyway, and these are two a minute.
	maxAge = time.Minute
	// unknownEvery bounds how often the keys are read because a token names an
	// unknown key. Anybody can name keys; the owner of a new valid key succeeds
	// with the next attempt.
	unknownEvery = 5 * time.Second
	// failedEvery bounds how often a failed read is repeated.
	failedEvery = time.Second
)

// The paths where every API server publishes the keys that verify its tokens.
// Kubernetes itself has a ClusterRole by which each ServiceAccount may read
// both.
const (
	discoveryPath = "/.well-known/openid-configuration"
	// The document names another address of the keys, which may be a public
	// address of the cluster. This path is read over the same connection as
	// everything else.
	keysPath = "/openid/v1/jwks"
)

// Source returns documents of the API server.
type Source interface {
	Document(ctx context.Context, path string) ([]byte, error)
}

// trust is the set of keys that verify tokens.
type trust struct {
	issuer string
	keys   map[string]jose.JSONWebKey
	read   time.Time
}

// find returns the key of that id, for that algorithm.
func (t *trust) find(id, algorithm string) (jose.JSONWebKey, bool) {
	key, found := t.keys[id]
	return key, found && (key.Algorithm == "" || key.Algorithm == algorithm)
}

// has reports whether a key of that id is known and may be used at that time.
func (t *trust) has(id string, now time.Time) bool {
	_, found := t.keys[id]
	return found && t.fresh(now)
}

func (t *trust) fresh(now time.Time) bool { return now.Sub(t.read) < maxAge }

// trustFor returns the keys for a token that names the key of that id. They may
// not include it.
func (v *Verifier) trustFor(ctx context.Context, id string) (*trust, error) {
	if known := v.known.Load(); known.has(id, v.now()) {
		return known, nil
	}
	// One reader at a time: its result serves all that wait.
	select {
	case v.reading <- struct{}{}:
		defer func() { <-v.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	known, now := v.known.Load(), v.now()
	if known.has(id, now) || known.fresh(now) && now.Sub(known.read) < unknownEvery {
		return known, nil
	}
	if v.failure != nil && now.Sub(v.failed) < failedEvery {
		return nil, v.failure
	}
	next, err := v.read(ctx)
	if err != nil {
		if ctx.Err() == nil { // Otherwise the caller left.
			v.failure, v.failed = err, now
		}
		return nil, err
	}
	v.failure = nil
	v.known.Store(next)
	return next, nil
}

// read reads the keys. Their age counts from before the request.
func (v *Verifier) read(ctx context.Context) (*trust, error) {
	next := &trust{keys: map[string]jose.JSONWebKey{}, read: v.now()}
	document, err := v.source.Document(ctx, discoveryPath)
	if err != nil {
		return nil, fmt.Errorf("read who issues tokens: %w", err)
	}
	var discovery struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(document, &discovery); err != nil {
		return nil, fmt.Errorf("decode who issues tokens: %w", err)
	}
	if next.issuer = discovery.Issuer; next.issuer == "" {
		return nil, errors.New("the API server does not say who issues tokens")
	}
	if document, err = v.source.Document(ctx, keysPath); err != nil {
		return nil, fmt.Errorf("read the keys of tokens: %w", err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("decode the keys of tokens: %w", err)
	}
	for _, key := range set.Keys {
		if _, known := next.keys[key.KeyID]; known || !verifies(&key) {
			continue
		}
		next.keys[key.KeyID] = key
	}
	if len(next.keys) == 0 {
		return nil, errors.New("the API server has no key that tokens can be verified by")
	}
	return next, nil
}

// verifies reports whether a key is a public one: a secret key would sign as
// well.
func verifies(key *jose.JSONWebKey) bool {
	return key.Valid() && key.IsPublic() && key.KeyID != "" && (key.Use == "" || key.Use == "sig")
}
