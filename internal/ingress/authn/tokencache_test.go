// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// countedTokens counts how often it is asked, and knows one token.
type countedTokens struct {
	asked int
	ends  time.Time
}

func (c *countedTokens) Verify(_ context.Context, token, _ string, now time.Time) (oauth.Token, error) {
	c.asked++
	if token == "bad" || !now.Before(c.ends) {
		return oauth.Token{}, oauth.ErrToken
	}
	return oauth.Token{ID: token, Expires: c.ends}, nil
}

func TestATokenIsVerifiedOnceAMinute(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	counted := &countedTokens{ends: start.Add(90 * time.Second)}
	cache := newTokenCache(counted)
	for _, step := range []struct {
		name, token, resource string
		after                 time.Duration
		asked                 int
		ok                    bool
	}{
		{"the first time", "a", "r", 0, 1, true},
		{"again", "a", "r", 59 * time.Second, 1, true},
		{"for another resource", "a", "s", 59 * time.Second, 2, true},
		{"after a minute", "a", "r", time.Minute, 3, true},
		{"at its end", "a", "r", 90 * time.Second, 4, false},
		{"a bad one", "bad", "r", 0, 5, false},
		{"a bad one again", "bad", "r", 0, 6, false},
	} {
		got, err := cache.Verify(context.Background(), step.token, step.resource, start.Add(step.after))
		if (err == nil) != step.ok || err != nil && !errors.Is(err, oauth.ErrToken) || step.ok && got.ID != step.token {
			t.Errorf("%s: %+v, %v", step.name, got, err)
		}
		if counted.asked != step.asked {
			t.Errorf("%s: verified %d times, want %d", step.name, counted.asked, step.asked)
		}
	}
}

func TestAnyNumberOfTokensTakesBoundedMemory(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	cache := newTokenCache(&countedTokens{ends: start.Add(time.Hour)})
	for i := range 3 * maxTokens {
		if _, err := cache.Verify(context.Background(), strconv.Itoa(i), "r", start); err != nil {
			t.Fatal(err)
		}
		if n := len(cache.verified); n > maxTokens {
			t.Fatalf("%d tokens are kept, want at most %d", n, maxTokens)
		}
	}
}
