// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/authserver/loginstore"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// fixture is a Grants with a store in a file, and its clock.
type fixture struct {
	*grant.Grants

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	s, err := loginstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "logins"), loginstore.Options{
		Now: f.clock, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Grants = &grant.Grants{Store: s, Random: rand.Reader, Now: f.clock, Lifetime: 30 * 24 * time.Hour, Idle: 24 * time.Hour}
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) wait(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// create returns the code of a new grant.
func (f *fixture) create(t *testing.T) grant.Credential {
	t.Helper()
	code, err := f.Create(t.Context(), grant.Grant{Client: "desk", Scopes: []string{"mcp:read"}, Who: flow.Identity{Subject: "alice"}, Began: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// use exchanges a credential for the next refresh token, as the token endpoint does.
func (f *fixture) use(ctx context.Context, c grant.Credential) (grant.Credential, error) {
	g, err := f.Load(ctx, c)
	if err != nil {
		return grant.Credential{}, err
	}
	if c.Kind == grant.Code && (!g.HasCode(c) || g.Redeemed()) || c.Kind == grant.Refresh && !g.Refreshes(c, f.clock()) {
		return grant.Credential{}, grant.ErrReplayed
	}
	return f.Rotate(ctx, g, c)
}

func (f *fixture) mustUse(t *testing.T, c grant.Credential) grant.Credential {
	t.Helper()
	return must.Value(f.use(t.Context(), c))(t)
}

func TestACredentialIsReadFromItsText(t *testing.T) {
	f := newFixture(t)
	code := f.create(t)
	refresh := f.mustUse(t, code)
	for name, test := range map[string]struct {
		kind  grant.Kind
		text  string
		valid bool
	}{
		"a code":                         {grant.Code, code.Text(), true},
		"a refresh token":                {grant.Refresh, refresh.Text(), true},
		"a code as a refresh token":      {grant.Refresh, code.Text(), false},
		"a refresh token as a code":      {grant.Code, refresh.Text(), false},
		"a code that is too short":       {grant.Code, code.Text()[:89], false},
		"a code that is too long":        {grant.Code, code.Text() + "A", false},
		"a code with another character":  {grant.Code, code.Text()[:89] + "=", false},
		"a code with an early character": {grant.Code, "hbc_=" + code.Text()[5:], false},
		"nothing":                        {grant.Code, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := grant.ParseCredential(test.kind, test.text)
			if (err == nil) != test.valid || test.valid && got.Text() != test.text {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestARefreshTokenHasOneSuccessor(t *testing.T) {
	f := newFixture(t)
	first := f.mustUse(t, f.create(t))
	second := f.mustUse(t, first)
	f.wait(29 * time.Second)
	if again := f.mustUse(t, first); again != second {
		t.Error("a repeated request gets another token")
	}
	f.wait(time.Second)
	if _, err := f.use(t.Context(), first); !errors.Is(err, grant.ErrReplayed) {
		t.Errorf("after 30 seconds: %v", err)
	}
	f.mustUse(t, second)
	if _, err := f.use(t.Context(), first); !errors.Is(err, grant.ErrReplayed) {
		t.Errorf("the token before the former one: %v", err)
	}
}

func TestRequestsAtOnceGetOneToken(t *testing.T) {
	f := newFixture(t)
	first := f.mustUse(t, f.create(t))
	tokens := make([]grant.Credential, 8)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			if tokens[i], err = f.use(t.Context(), first); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] {
			t.Error("two requests get different tokens")
		}
	}
}

func TestACodeIsRedeemedOnce(t *testing.T) {
	f := newFixture(t)
	code := f.create(t)
	var all sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		all.Go(func() { _, results[i] = f.use(t.Context(), code) })
	}
	all.Wait()
	redeemed := 0
	for _, err := range results {
		if err == nil {
			redeemed++
		} else if !errors.Is(err, grant.ErrReplayed) {
			t.Error(err)
		}
	}
	if redeemed != 1 {
		t.Errorf("the code is redeemed %d times", redeemed)
	}
}

func TestAGrantEnds(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *fixture, grant.Credential) grant.Credential{
		"when it is ended": func(t *testing.T, f *fixture, c grant.Credential) grant.Credential {
			g := must.Value(f.Load(t.Context(), c))(t)
			must.Succeed(t, f.End(t.Context(), g))
			if _, err := f.Rotate(t.Context(), g, c); !errors.Is(err, grant.ErrNotFound) {
				t.Errorf("for a request that loaded it before: %v", err)
			}
			return c
		},
		"when it is not refreshed": func(_ *testing.T, f *fixture, c grant.Credential) grant.Credential {
			f.wait(24 * time.Hour)
			return c
		},
		"after its lifetime": func(t *testing.T, f *fixture, c grant.Credential) grant.Credential {
			for range 60 {
				c = f.mustUse(t, c)
				f.wait(12 * time.Hour)
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			last := end(t, f, f.mustUse(t, f.create(t)))
			if _, err := f.Load(t.Context(), last); !errors.Is(err, grant.ErrNotFound) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAllGrantsOfAUserEnd(t *testing.T) {
	f := newFixture(t)
	before := f.clock()
	var all sync.WaitGroup
	for range 3 { // Administrators may do it at once, and again.
		all.Go(func() {
			if err := f.EndAll(t.Context(), "alice"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f.wait(time.Hour)
	must.Succeed(t, f.EndAll(t.Context(), "alice"))
	now := f.clock()
	got := map[string]bool{}
	for name, test := range map[string]struct {
		began time.Time
		user  v1alpha1.UserID
	}{
		"before":         {before, "alice"},
		"at that time":   {now, "alice"},
		"after it":       {now.Add(time.Nanosecond), "alice"},
		"of other users": {before, "bob"},
	} {
		ended := must.Value(f.Ended(t.Context(), test.began, test.user))(t)
		got[name] = ended
	}
	if diff := cmp.Diff(map[string]bool{"before": true, "at that time": true, "after it": false, "of other users": false}, got); diff != "" {
		t.Error(diff)
	}
}
