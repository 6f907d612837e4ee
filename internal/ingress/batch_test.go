// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// batchOf is a batch of so many of one.
func batchOf(n int, one string) string {
	return "[" + strings.Repeat(one+",", n-1) + one + "]"
}

// minuteLeft is what the answer says is left of the minute.
func minuteLeft(t *testing.T, got reply) int {
	t.Helper()
	_, after, _ := strings.Cut(got.header.Get("RateLimit"), `"minute";r=`)
	n, err := strconv.Atoi(after[:max(0, strings.IndexAny(after, ";,"))])
	if err != nil {
		t.Fatalf("%d, RateLimit %q", got.status, got.header.Get("RateLimit"))
	}
	return n
}

func TestABatchHasSoManyMembersAndNoMore(t *testing.T) {
	call, short := callOf("1", "search"), `{"id":1,"method":"tools/call"}`
	// As many calls as a body has room for.
	whole := batchOf((4<<20-2)/(len(short)+1), short)
	answer := answers(isJSON, "[]")
	for name, tt := range map[string]struct {
		body   string
		status int
		left   int // of 1,000
		want   []outline
		action string
	}{
		"as many as may be":              {batchOf(jsonrpc.MaxBatch, rpcRequest), 200, 1000 - jsonrpc.MaxBatch, nil, ""},
		"one more":                       {batchOf(jsonrpc.MaxBatch+1, rpcRequest), 413, 999, nil, ""},
		"one more that costs nothing":    {"[" + strings.Repeat(rpcRequest+",", jsonrpc.MaxBatch) + rpcNotification + "]", 413, 999, nil, ""},
		"all of them cost nothing":       {batchOf(jsonrpc.MaxBatch+1, rpcNotification), 413, 999, nil, ""},
		"all of them are no objects":     {batchOf(jsonrpc.MaxBatch+1, "7"), 413, 999, nil, ""},
		"calls of a tool":                {batchOf(jsonrpc.MaxBatch+1, call), 413, 999, []outline{byIngress("search", audit.Denied, "batch_too_large")}, "batch of more than 100"},
		"as many calls as a body holds":  {whole, 413, 999, []outline{byIngress("", audit.Denied, "batch_too_large")}, "batch of more than 100"},
		"one that is not JSON to an end": {strings.TrimSuffix(batchOf(jsonrpc.MaxBatch+1, call), "]"), 400, 1000, []outline{byIngress("", audit.Denied, "message_invalid")}, "mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w, alice := ofTier(t, func(t *quota.Tier) { t.PerMinute, t.PerHour, t.PerDay = 1000, 1000, 1000 }, answer)
				got := w.do(w.request("POST", "/u/alice/mcp", alice, tt.body))
				if got.status != tt.status || (got.status == 413) != strings.Contains(got.body, "batch_too_large") {
					t.Errorf("%d %.200s", got.status, got.body)
				}
				if left := minuteLeft(t, got); left != tt.left {
					t.Errorf("%d are left, want %d", left, tt.left)
				}
				if tt.status == 200 {
					return
				}
				entries := w.audit.all()
				if diff := cmp.Diff(tt.want, outlines(entries)); diff != "" {
					t.Error(diff)
				}
				if len(entries) > 0 && entries[0].Action != tt.action {
					t.Errorf("action %q", entries[0].Action)
				}
			})
		})
	}
}

// TestABatchThatIsRefusedCostsARequestAndHasOneEntry asks for more than there is
// until there is nothing.
func TestABatchThatIsRefusedCostsARequestAndHasOneEntry(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := ofTier(t, func(t *quota.Tier) { t.PerMinute = 6 }, answers(isJSON, "[]"))
		do := func(body string) reply { return w.do(w.request("POST", "/u/alice/mcp", alice, body)) }
		if got := do(batchOf(3, rpcRequest)); got.status != 200 || minuteLeft(t, got) != 3 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		batch := "[" + callOf("1", "first") + "," + callOf("2", "second") + "," + callOf("3", "x") + "," + callOf("4", "x") + "]"
		for i, left := range []int{2, 1, 0, 0} {
			if got := do(batch); got.status != http.StatusTooManyRequests || minuteLeft(t, got) != left {
				t.Errorf("attempt %d: %d %s, RateLimit %s, want %d left", i, got.status, got.body, got.header.Get("RateLimit"), left)
			}
			entries := w.audit.all()
			if len(entries) != i+1 {
				t.Fatalf("attempt %d: %d entries", i, len(entries))
			}
			e := entries[i]
			if e.Tool != "first" || e.Action != "batch of 4 calls" || e.Status != audit.RateLimited || e.ErrorType != "rate_limited" {
				t.Errorf("attempt %d: %+v", i, e)
			}
		}
		if got := do(callOf("5", "alone")); got.status != http.StatusTooManyRequests {
			t.Errorf("%d", got.status)
		}
		if e := w.audit.all()[4]; e.Tool != "alone" || e.Action != "" || e.Status != audit.RateLimited {
			t.Errorf("%+v", e)
		}
	})
}

// TestWhatABatchIsToldToWaitIsEnough has a client that comes back when it was
// told to: what its first attempt cost must not refuse the second.
func TestWhatABatchIsToldToWaitIsEnough(t *testing.T) {
	for _, size := range []int{10, 20, 50} {
		tier := testTiers()[testTier]
		tier.Burst, tier.PerMinute, tier.PerHour, tier.PerDay = 10, 50, 10_000, 10_000
		q := &clocked{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
		w, alice := ofTier(t, func(t *quota.Tier) { *t = tier }, answers(isJSON, "[]"))
		w.server.router.bounds.quota = limits.NewQuota(q, func() quota.Tiers { return *w.tiers.Load() })
		do := func(n int) reply { return w.do(w.request("POST", "/u/alice/mcp", alice, batchOf(n, rpcRequest))) }
		if got := do(5); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		got := do(size)
		wait, err := strconv.Atoi(got.header.Get("Retry-After"))
		if got.status != http.StatusTooManyRequests || err != nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		q.now = q.now.Add(time.Duration(wait) * time.Second)
		if got := do(size); got.status != 200 {
			t.Errorf("a batch of %d after %d s: %d %s", size, wait, got.status, got.body)
		}
	}
}

// clocked are the quotas of one user, at a time that the test says.
type clocked struct {
	now   time.Time
	state quota.State
}

func (q *clocked) Take(_ context.Context, _ types.UID, tier quota.Tier, want quota.Want) (v quota.Verdict) {
	q.state, v = quota.Take(q.state, tier, q.now, want.Requests)
	return v
}

func (q *clocked) Give(types.UID, quota.Limit) {}

func (q *clocked) Known(_ context.Context, _ types.UID, tier quota.Tier) quota.Verdict {
	_, v := quota.Take(q.state, tier, q.now, 0)
	return v
}

// TestRefusalsBeforeTheBodyHaveTheirEntry has callers whose key is known, and
// requests of which nothing else is.
func TestRefusalsBeforeTheBodyHaveTheirEntry(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, contentType, body string
		prepare                         func(w *world)
		status                          int
		want                            []string
	}{
		"another user's bridge":  {"POST", "/u/bob/mcp", isJSON, callOf("1", "a"), nil, 401, []string{"unread mcp denied unauthorized"}},
		"nobody's":               {"POST", "/u/nobody/mcp", isJSON, callOf("1", "a"), nil, 401, []string{"unread mcp denied unauthorized"}},
		"another user's stream":  {"GET", "/u/bob/mcp", "", "", nil, 401, []string{"unread mcp denied unauthorized"}},
		"another user's secrets": {"GET", "/u/bob/secrets", "", "", nil, 401, []string{"unread secrets denied unauthorized"}},
		"another user's health":  {"GET", "/u/bob/health", "", "", nil, 401, []string{"unread health denied unauthorized"}},
		"a tier that is none": {"POST", "/u/alice/mcp", isJSON, callOf("1", "a"), func(w *world) {
			w.setTiers(quota.Tiers{"other": quota.Defaults()["free"]})
		}, 409, []string{"unread mcp denied tier_unknown"}},
		"another media type":  {"POST", "/u/alice/mcp", "text/plain", callOf("1", "a"), nil, 415, []string{"unread mcp denied unsupported_media_type"}},
		"a body of 5 MiB":     {"POST", "/u/alice/mcp", isJSON, strings.Repeat(" ", 5<<20), nil, 413, []string{"unread mcp denied body_too_large"}},
		"no session":          {"POST", "/u/alice/sse", isJSON, callOf("1", "a"), nil, 405, []string{"unread sse denied method_not_allowed"}},
		"what is served":      {"POST", "/u/alice/mcp", isJSON, rpcRequest, nil, 200, nil},
		"its own health":      {"GET", "/u/alice/health", "", "", nil, 200, nil},
		"a secret of its own": {"GET", "/u/alice/secrets/NONE", "", "", nil, 404, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, alice := oneUser(t, defaults(), answers(isJSON, "{}"))
			if tt.prepare != nil {
				tt.prepare(w)
			}
			r := w.request(tt.method, tt.path, alice, tt.body)
			if tt.contentType != "" {
				r.Header.Set("Content-Type", tt.contentType)
			}
			if got := w.do(r); got.status != tt.status {
				t.Errorf("%d %s", got.status, got.body)
			}
			var got []string
			for _, e := range w.audit.all() {
				got = append(got, fmt.Sprintf("%s %s %s %s", e.Method, e.Action, e.Status, e.ErrorType))
				if e.UserID != "alice" || !strings.Contains(alice, "_"+e.Principal.ID+"_") || e.Tool != "" || e.RequestID == "" || e.ReportedBy != audit.Ingress {
					t.Errorf("%+v", e)
				}
				if strings.Contains(fmt.Sprintf("%+v", e), "bob") || strings.Contains(fmt.Sprintf("%+v", e), "nobody") {
					t.Errorf("the entry names the other user: %+v", e)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a key that opens nothing", func(t *testing.T) {
		w, _ := oneUser(t, defaults(), answers(isJSON, "{}"))
		if got := w.do(w.request("POST", "/u/alice/mcp", "wrong", callOf("1", "a"))); got.status != 401 || len(w.audit.all()) != 0 {
			t.Errorf("%d, %+v", got.status, w.audit.all())
		}
	})
}

func TestRefusalsBeforeTheBodyAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := oneUser(t, defaults(), answers(isJSON, "{}"))
		for range 5 * callaudit.MaxUnread {
			w.do(w.request("POST", "/u/bob/mcp", alice, callOf("1", "a")))
		}
		// The minute may change meanwhile.
		if n := len(w.audit.all()); n < callaudit.MaxUnread || n > 2*callaudit.MaxUnread || int(w.metric("audit_refusals_dropped_total")) != 5*callaudit.MaxUnread-n {
			t.Errorf("%d entries, %v dropped", n, w.metric("audit_refusals_dropped_total"))
		}
	})
}
