// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// rounds is how often an answer is asked for that all replicas have to agree
// on, each time on a connection of its own.
const rounds = 4

// storeReady bounds the time in which a process is replaced and all ingresses
// use the store again.
const storeReady = 3 * time.Minute

// TestAllIngressesCountTogetherAndFindTheSame is about the defaults: two
// replicas, one count and one audit index, kept over the restart of both
// processes.
func TestAllIngressesCountTogetherAndFindTheSame(t *testing.T) {
	rita := tenant{name: installed.name("rita"), key: mint(t)}
	b := bridge(rita.name, []credential{rita.key}, "everything")
	b.Spec.Tier = "six"
	begin := time.Now().UTC()
	rita.uid = create(t, b)
	awaitReady(t, rita.name)
	awaitWholeTier(t, rita)

	for i := range 6 {
		a, err := send(t.Context(), newHTTPClient(false), rita.url(), rita.key.secret, modernCall)
		if err == nil {
			err = a.toolAnswered()
		}
		if err != nil {
			t.Fatalf("call %d of 6: %v", i+1, err)
		}
		if left, want := a.header.Get("Ratelimit"), fmt.Sprintf(`"minute";r=%d;`, 5-i); !strings.Contains(left, want) {
			t.Errorf("after call %d RateLimit is %s, want %s", i+1, left, want)
		}
	}
	for range rounds {
		a, err := send(t.Context(), newHTTPClient(false), rita.url(), rita.key.secret, modernCall)
		if err != nil || a.status != http.StatusTooManyRequests {
			t.Errorf("a call beyond the quota: status %d, %v: %.300s", a.status, err, a.body)
		}
	}

	calls := awaitAgreement(t, rita, begin, 6)
	for _, deployment := range []string{"hosted-bridge-ingress", "hosted-bridge-store"} {
		mustKubectl(t, "rollout", "restart", "deployment/"+deployment, "--namespace="+systemNamespace)
		mustKubectl(t, "rollout", "status", "deployment/"+deployment, "--namespace="+systemNamespace, "--timeout=180s")
		awaitWholeTier(t, rita)
		calls = awaitAgreement(t, rita, begin, calls)
		for range rounds {
			a := must.Value(askHealth(t.Context(), rita))(t)
			// The minute may be over by now.
			if left := a.header.Get("Ratelimit"); !strings.Contains(left, `"hour";r=54;`) {
				t.Errorf("after a restart of %s RateLimit is %s, want six calls less than 60 an hour", deployment, left)
			}
		}
	}
}

func askHealth(ctx context.Context, n tenant) (answer, error) {
	return send(ctx, newHTTPClient(false), n.base()+"/health", n.key.secret, request{method: http.MethodGet})
}

// awaitWholeTier waits until every replica counts in the store: alone each of them
// would give three calls a minute.
func awaitWholeTier(t *testing.T, n tenant) {
	t.Helper()
	wait.NoError(t, storeReady, "all ingresses count together", func(ctx context.Context) error {
		for range 3 * rounds {
			a, err := askHealth(ctx, n)
			if err != nil {
				return err
			}
			if policy := a.header.Get("Ratelimit-Policy"); !strings.Contains(policy, `"minute";q=6;`) {
				return fmt.Errorf("status %d, RateLimit-Policy is %s", a.status, policy)
			}
		}
		return nil
	})
}

// awaitAgreement waits until the index has so many calls of the tenant, at least,
// and all of several answers in a row say the same. It returns how many.
func awaitAgreement(t *testing.T, n tenant, begin time.Time, least int) (calls int) {
	t.Helper()
	type figures struct {
		Scope string
		Calls json.RawMessage
		Users []struct {
			UserID string
			Calls  int
		}
	}
	key := admin(t).key
	query := url.Values{"from": {begin.Format(time.RFC3339)}, "to": {begin.Add(time.Hour).Format(time.RFC3339)}, "top": {"100"}}
	wait.NoError(t, storeReady, "all ingresses find the same", func(ctx context.Context) error {
		var first figures
		for i := range rounds {
			a, err := send(ctx, newHTTPClient(false), installed.url+"/admin/analytics?"+query.Encode(), key, request{method: http.MethodGet})
			if err != nil {
				return err
			}
			var f figures
			if err := json.Unmarshal(a.body, &f); err != nil {
				return fmt.Errorf("status %d: %w: %.500s", a.status, err, a.body)
			}
			if a.status != http.StatusOK || f.Scope != "installation" {
				return fmt.Errorf("status %d: %.500s", a.status, a.body)
			}
			if i == 0 {
				first = f
			}
			if diff := cmp.Diff(first, f); diff != "" {
				return fmt.Errorf("two answers differ: %s", diff)
			}
		}
		calls = 0
		for _, u := range first.Users {
			if u.UserID == n.name {
				calls = u.Calls
			}
		}
		if calls < least {
			return fmt.Errorf("the index has %d calls of %s, want %d", calls, n.name, least)
		}
		return nil
	})
	return calls
}
