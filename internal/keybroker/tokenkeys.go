// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	// tokenKeysMaxAge is the maximum age of the keys that verify a token: a key that the
	// API server has removed is trusted that much longer. Each accepted token
	// costs requests of the API server anyway, and these are two a minute.
	tokenKeysMaxAge = time.Minute
	// tokenUnknownEvery bounds how often the keys are read because a token names an
	// unknown key. Anybody can name keys; the owner of a new valid key succeeds
	// with the next attempt.
	tokenUnknownEvery = 5 * time.Second
	// tokenFailedEvery bounds how often a failed read is repeated.
	tokenFailedEvery = time.Second
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

// KeySource returns documents of the API server.
type KeySource interface {
	Document(ctx context.Context, path string) ([]byte, error)
}

// tokenTrust is the set of keys that verify tokens.
type tokenTrust struct {
	issuer string
	keys   map[string]jose.JSONWebKey
	read   time.Time
}

// find returns the key of that id, for that algorithm.
func (t *tokenTrust) find(id, algorithm string) (jose.JSONWebKey, bool) {
	key, found := t.keys[id]
	return key, found && (key.Algorithm == "" || key.Algorithm == algorithm)
}

// has reports whether a key of that id is known and may be used at that time.
func (t *tokenTrust) has(id string, now time.Time) bool {
	_, found := t.keys[id]
	return found && t.fresh(now)
}

func (t *tokenTrust) fresh(now time.Time) bool { return now.Sub(t.read) < tokenKeysMaxAge }

// trustFor returns the keys for a token that names the key of that id. They may
// not include it.
func (v *TokenVerifier) trustFor(ctx context.Context, id string) (*tokenTrust, error) {
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
	if known.has(id, now) || known.fresh(now) && now.Sub(known.read) < tokenUnknownEvery {
		return known, nil
	}
	if v.failure != nil && now.Sub(v.failed) < tokenFailedEvery {
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
func (v *TokenVerifier) read(ctx context.Context) (*tokenTrust, error) {
	next := &tokenTrust{keys: map[string]jose.JSONWebKey{}, read: v.now()}
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
		if _, known := next.keys[key.KeyID]; known || !verifiesTokens(&key) {
			continue
		}
		next.keys[key.KeyID] = key
	}
	if len(next.keys) == 0 {
		return nil, errors.New("the API server has no key that tokens can be verified by")
	}
	return next, nil
}

// verifiesTokens reports whether a key is a public one: a secret key would sign as
// well.
func verifiesTokens(key *jose.JSONWebKey) bool {
	return key.Valid() && key.IsPublic() && key.KeyID != "" && (key.Use == "" || key.Use == "sig")
}
