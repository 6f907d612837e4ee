// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// tokenFor is how long a token is not verified again: a signature takes a
	// hundred times as long as everything else that is asked of a caller. It is
	// also how much longer than the keys of its issuer a token can be good.
	tokenFor = time.Minute
	// maxTokens is how many verified tokens are kept, of some 300 bytes each.
	maxTokens = 1 << 13
)

// tokenCache verifies a token once a minute. What a token opens is looked up each
// time, and its end too, so that none is good for longer than it says.
type tokenCache struct {
	verifier TokenVerifier

	mu       sync.RWMutex
	verified map[apikey.Hash]verifiedToken
}

type verifiedToken struct {
	oauth.Token

	until time.Time
}

func newTokenCache(v TokenVerifier) *tokenCache {
	return &tokenCache{verifier: v, verified: map[apikey.Hash]verifiedToken{}}
}

// Verify implements TokenVerifier.
func (t *tokenCache) Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error) {
	// No resource has a space in it, so that no two pairs make one text. The hash
	// keeps tokens out of memory.
	key := apikey.HashOf(resource + " " + token)
	t.mu.RLock()
	found, ok := t.verified[key]
	t.mu.RUnlock()
	if ok && now.Before(found.until) {
		return found.Token, nil
	}
	verified, err := t.verifier.Verify(ctx, token, resource, now)
	if err != nil {
		return verified, err
	}
	until := now.Add(tokenFor)
	if verified.Expires.Before(until) {
		until = verified.Expires // The leeway of clocks is the verifier's to give.
	}
	t.keep(key, verifiedToken{verified, until}, now)
	return verified, nil
}

// keep keeps a token. If the cache is full, it removes expired tokens first, and if
// that is not enough, others.
func (t *tokenCache) keep(key apikey.Hash, token verifiedToken, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.verified) >= maxTokens {
		for k, v := range t.verified {
			if !now.Before(v.until) {
				delete(t.verified, k)
			}
		}
	}
	if len(t.verified) >= maxTokens {
		clear(t.verified)
	}
	t.verified[key] = token
}
