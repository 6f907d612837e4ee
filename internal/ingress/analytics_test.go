// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const day = 24 * time.Hour

// inventory has a bridge of alice's that names a recipe.
func inventory(catalog *usage.Catalog) usage.Inventory {
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice"},
		Spec:       v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "gh", Recipe: &v1alpha1.RecipeReference{Name: "github"}}}},
		Status:     v1alpha1.HostedBridgeStatus{Phase: v1alpha1.PhaseRunning},
	}
	return usage.Inventory{Installed: usage.Of([]*effective.Bridge{effective.Of(b)}), Catalog: catalog}
}

const wantAnalytics = `{
	"from": "2026-03-01T00:00:00Z", "to": "2026-03-01T02:00:00Z",
	"totals": {"users": 1, "bridges": {"Running": 1}, "recipes": 60, "publishers": 2},
	"calls": {"total": 7, "errors": 1, "errorRate": 0.2, "rateLimited": 2, "byStatus": {"success": 4, "timeout": 1, "rate_limited": 2}, "latencyMs": {"p50": 5, "p95": 60, "p99": 70}},
	"step": "hour",
	"steps": [
		{"start": "2026-03-01T00:00:00Z", "users": 2, "total": 7, "errors": 1, "errorRate": 0.2, "rateLimited": 2, "byStatus": {"success": 4, "timeout": 1, "rate_limited": 2}, "latencyMs": {"p50": 5, "p95": 60, "p99": 70}},
		{"start": "2026-03-01T01:00:00Z", "users": 0, "total": 0, "errors": 0, "errorRate": 0, "rateLimited": 0, "byStatus": {}, "latencyMs": {"p50": 0, "p95": 0, "p99": 0}}
	],
	"servers": [{"server": "gh", "calls": 6, "errors": 1}],
	"tools": [{"server": "gh", "tool": "search", "calls": 6, "errors": 1}],
	"recipes": [{"recipe": "github", "bridges": 1, "calls": 5, "errors": 1}],
	"users": [{"userId": "alice", "calls": 5, "errors": 1}, {"userId": "bob", "calls": 1, "errors": 0}],
	"scope": "installation", "lagSeconds": 1.5
}`

func TestAnalytics(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.inventory.set(inventory(&usage.Catalog{Recipes: 60, Publishers: 2}), nil)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	all := audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: 4, audit.Timeout: 1, audit.RateLimited: 2}, Latency: audit.Latency{P50: 5, P95: 60, P99: 70}}
	w.index.answerFigures(audit.Figures{
		Total: all, Steps: []audit.Step{{Start: start, Calls: all, Users: 2}, {Start: start.Add(time.Hour)}},
		Tools: []audit.ToolCalls{{Server: "gh", Tool: "search", Tally: audit.Tally{Calls: 6, Errors: 1}}},
		Uses:  []audit.Use{{UserID: "alice", Server: "gh", Tally: audit.Tally{Calls: 5, Errors: 1}}, {UserID: "bob", Server: "gh", Tally: audit.Tally{Calls: 1}}},
		Lag:   1500 * time.Millisecond, Shared: true,
	}, nil)
	got := w.do(w.request("GET", "/admin/analytics?from=2026-03-01&to=2026-03-01T02:00:00Z", adminKey, ""))
	if got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(wantAnalytics)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, want.String()), decoded(t, got.body)); diff != "" {
		t.Error(diff)
	}
	if acts := w.audit.all(); len(acts) != 1 || acts[0].Method != "admin/analytics.query" || acts[0].Principal.Kind != audit.KindAdminKey {
		t.Errorf("the trail has %+v", acts)
	}
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestAnalyticsOfAnInstallationThatWasNeverCalled(t *testing.T) {
	w, _, _ := twoUsers(t)
	got := decoded(t, w.do(w.request("GET", "/admin/analytics?from=2026-03-01&to=2026-03-02&step=day", adminKey, "")).body)
	for _, list := range []string{"steps", "servers", "tools", "recipes", "users"} {
		if l, ok := got[list].([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v", list, got[list])
		}
	}
	totals := got["totals"].(map[string]any)
	if _, known := totals["recipes"]; known || totals["users"] != 0.0 || got["scope"] != "replica" {
		t.Errorf("%v", got)
	}
}

func TestQueriesForAnalytics(t *testing.T) {
	w, _, _ := twoUsers(t)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for query, want := range map[string]audit.FiguresQuery{
		"?from=2026-03-01&to=2026-03-02":                     {From: at, To: at.Add(day), Step: time.Hour, Top: 10},
		"?to=2026-03-02":                                     {From: at, To: at.Add(day), Step: time.Hour, Top: 10},
		"?from=2026-03-01&to=2026-03-08":                     {From: at, To: at.Add(7 * day), Step: time.Hour, Top: 10},
		"?from=2026-03-01&to=2026-03-09":                     {From: at, To: at.Add(8 * day), Step: day, Top: 10},
		"?from=2026-03-01&to=2026-04-01&step=hour":           {From: at, To: at.Add(31 * day), Step: time.Hour, Top: 10},
		"?from=2026-03-01&to=2026-03-02&step=day&top=100":    {From: at, To: at.Add(day), Step: day, Top: 100},
		"?from=2026-03-01&to=2026-03-02&userId=alice":        {UserID: "alice", From: at, To: at.Add(day), Step: time.Hour, Top: 10},
		"?from=2026-03-01T00:00:00Z&to=2026-03-01T00:00:01Z": {From: at, To: at.Add(time.Second), Step: time.Hour, Top: 10},
	} {
		w.index.answerFigures(audit.Figures{}, nil)
		if got := w.do(w.request("GET", "/admin/analytics"+query, adminKey, "")); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
		if diff := cmp.Diff([]audit.FiguresQuery{want}, w.index.counts()); diff != "" {
			t.Errorf("%s asks for:\n%s", query, diff)
		}
	}
	for _, query := range []string{"", "?"} {
		w.index.answerFigures(audit.Figures{}, nil)
		w.do(w.request("GET", "/admin/analytics"+query, adminKey, ""))
		if q := w.index.counts(); len(q) != 1 || time.Since(q[0].To) > wait.Limit || q[0].To.Sub(q[0].From) != day || q[0].Step != time.Hour {
			t.Errorf("without a query: %+v", q)
		}
	}
}

func TestQueriesForAnalyticsThatAreRefused(t *testing.T) {
	w, _, _ := twoUsers(t)
	for query, says := range map[string]string{
		"user=alice":                    "from, to, step, top and userId",
		"step=minute":                   "hour or day",
		"step=":                         "hour or day",
		"top=0":                         "1 to 100",
		"top=101":                       "1 to 100",
		"from=yesterday":                "2026-03-01",
		"from=2026-03-02&to=2026-03-01": "from must be before to",
		"from=2026-03-01&to=2026-03-01": "from must be before to",
		"from=2999-01-01":               "from must be before to",
		"from=2026-03-01&to=2026-04-02&step=hour": "31 days",
		"from=2020-03-01&to=2026-04-01":           "744 days",
		"from=0001-01-01&to=9999-01-01":           "2026-03-01",
		"from=1970-01-01&to=9999-01-01":           "744 days",
		"from=2026-03-01&from=2026-03-02":         "more than once",
		"step=hour;day":                           "query_invalid",
		"step":                                    "query_invalid",
		"step=hour&&top=1":                        "query_invalid",
	} {
		got := w.do(w.request("GET", "/admin/analytics?"+query, adminKey, ""))
		if got.status != http.StatusBadRequest || !bytes.Contains([]byte(got.body), []byte(says)) || !bytes.Contains([]byte(got.body), []byte("query_invalid")) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	if asked := w.index.counts(); len(asked) != 0 {
		t.Errorf("the index is asked for %+v", asked)
	}
}

func TestWhatKeepsAnalyticsFromAnAnswer(t *testing.T) {
	w, alice, _ := twoUsers(t)
	ask := func(key string) (int, string) {
		got := w.do(w.request("GET", "/admin/analytics", key, ""))
		return got.status, got.body
	}
	expect := func(name string, status int, code string) {
		t.Helper()
		if got, body := ask(adminKey); got != status || decoded(t, body)["code"] != code || bytes.Contains([]byte(body), []byte("10.0.0.1")) {
			t.Errorf("%s: %d %s", name, got, body)
		}
	}
	for _, key := range []string{"", alice} {
		if status, body := ask(key); status != http.StatusUnauthorized {
			t.Errorf("with the key %q: %d %s", key, status, body)
		}
	}
	w.index.answerFigures(audit.Figures{}, errors.New("connect to 10.0.0.1: refused"))
	expect("an index that is away", http.StatusServiceUnavailable, "audit_index_unavailable")
	w.index.answerFigures(audit.Figures{}, nil)
	w.inventory.set(usage.Inventory{}, errors.New("10.0.0.1 has not answered"))
	expect("bridges that are not known", http.StatusServiceUnavailable, "cluster_unavailable")
	if asked := w.index.counts(); len(asked) != 0 {
		t.Errorf("calls are counted for nobody: %+v", asked)
	}
	w.inventory.set(inventory(nil), nil)
	if n := len(w.audit.all()); n != 0 {
		t.Errorf("%d entries of questions that were not answered", n)
	}
	w.audit.fail(errors.New("the disk is full"))
	expect("a trail that is full", http.StatusServiceUnavailable, "audit_unavailable")
}

func TestWithoutAnIndexThereAreTotals(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.inventory.set(inventory(nil), nil)
	_, none := management.NoAuditIndex{}.Figures(t.Context(), audit.FiguresQuery{})
	w.index.answerFigures(audit.Figures{}, none)
	got := w.do(w.request("GET", "/admin/analytics?from=2026-03-01&to=2026-03-02", adminKey, ""))
	const want = `{"from":"2026-03-01T00:00:00Z","to":"2026-03-02T00:00:00Z","totals":{"users":1,"bridges":{"Running":1}}}`
	if got.status != http.StatusOK || got.body != want {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestCallsAreCountedForOneAtATime has a second question wait for the first, and
// leave when nobody waits for it.
func TestCallsAreCountedForOneAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, _ := twoUsers(t)
		begun, end := make(chan struct{}, 2), make(chan struct{})
		w.index.count = func(ctx context.Context) error {
			begun <- struct{}{}
			select {
			case <-end:
			case <-ctx.Done():
			}
			return nil
		}
		first := make(chan int, 1)
		go func() { first <- w.do(w.request("GET", "/admin/analytics", adminKey, "")).status }()
		<-begun
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		if res, err := w.client.Do(w.request("GET", "/admin/analytics", adminKey, "").WithContext(ctx)); err == nil {
			res.Body.Close()
			t.Errorf("a second question: %d", res.StatusCode)
		}
		if len(begun) != 0 {
			t.Error("calls are counted for two at a time")
		}
		close(end)
		if status := <-first; status != http.StatusOK {
			t.Errorf("the first question: %d", status)
		}
		if status := w.do(w.request("GET", "/admin/analytics", adminKey, "")).status; status != http.StatusOK {
			t.Errorf("the next question: %d", status)
		}
	})
}
