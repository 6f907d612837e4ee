// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

const keysOfAlice = "/admin/users/alice/keys"

func TestAdministratorsHaveTheAdminKey(t *testing.T) {
	w, alice, _ := twoUsers(t)
	for name, header := range map[string]http.Header{
		"no key":              {},
		"a user's key":        {"Authorization": {"Bearer " + alice}},
		"another key":         {"Authorization": {"Bearer " + adminKey + "x"}},
		"a part of the key":   {"Authorization": {"Bearer " + adminKey[:len(adminKey)-1]}},
		"the key as a cookie": {"Cookie": {"key=" + adminKey}},
		"two keys":            {"Authorization": {"Bearer " + adminKey}, "X-Api-Key": {alice}},
	} {
		for _, path := range []string{keysOfAlice, "/admin/users/nobody/keys", "/admin/audit", "/admin/analytics"} {
			r := w.request("GET", path, "", "")
			r.Header = header
			if got := w.do(r); got.status != http.StatusUnauthorized {
				t.Errorf("%s at %s: %d", name, path, got.status)
			}
		}
	}
	r := w.request("GET", keysOfAlice, "", "")
	r.Header.Set("X-Api-Key", adminKey)
	if got := w.do(r); got.status != http.StatusOK {
		t.Errorf("the key as X-API-Key: %d", got.status)
	}
	if got := w.do(w.request("GET", "/u/alice/mcp", adminKey, "")); got.status != http.StatusUnauthorized {
		t.Errorf("the admin key opens a bridge: %d", got.status)
	}
	if strings.Contains(w.logs.String(), adminKey) {
		t.Error("the log has the admin key")
	}
}

func TestWithoutAnAdminKeyNobodyIsAdministrator(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.adminKey = nil
	for _, key := range []string{"", adminKey} {
		if got := w.do(w.request("GET", keysOfAlice, key, "")); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "admin_disabled") {
			t.Errorf("with the key %q: %d %s", key, got.status, got.body)
		}
	}
}

func TestAttemptsOnTheAdminKeyAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, _ := twoUsers(t)
		last := 0
		for range authn.SourceBurst + 20 {
			last = w.do(w.request("GET", keysOfAlice, "not the admin key", "")).status
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the last of many attempts is answered %d", last)
		}
		if got := w.do(w.request("GET", keysOfAlice, adminKey, "")); got.status != http.StatusOK {
			t.Errorf("the administrator is locked out: %d", got.status)
		}
	})
}

func TestAKeyIsMadeListedAndRevoked(t *testing.T) {
	w, _, _ := twoUsers(t)
	got := w.do(w.request("POST", keysOfAlice, adminKey, `{"name":"laptop","expires":"90d"}`))
	var made struct {
		Key, ID, Name string
		CreatedAt     time.Time
		ExpiresAt     time.Time
	}
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.status != http.StatusCreated || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	if key, err := apikey.Parse(made.Key); err != nil || key.ID != made.ID || made.Name != "laptop" || made.ExpiresAt.Sub(made.CreatedAt).Round(time.Minute) != 90*24*time.Hour {
		t.Errorf("made %+v: %v", key, err)
	}
	got = w.do(w.request("GET", keysOfAlice, adminKey, ""))
	if want := `{"keys":[{"id":"` + made.ID + `","name":"laptop","expiresAt":"` + made.ExpiresAt.Format(time.RFC3339) + `"}],"limit":32}`; got.status != http.StatusOK || got.body != want {
		t.Errorf("list: %d %s, want %s", got.status, got.body, want)
	}
	if got = w.do(w.request("DELETE", keysOfAlice+"/"+made.ID, adminKey, "")); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("revoke: %d %s", got.status, got.body)
	}
	if got = w.do(w.request("DELETE", keysOfAlice+"/"+made.ID, adminKey, "")); got.status != http.StatusNotFound || !strings.Contains(got.body, "key_not_found") {
		t.Errorf("revoke again: %d %s", got.status, got.body)
	}
	if strings.Contains(w.logs.String(), made.Key) {
		t.Error("the log has the key")
	}
	var acts []string
	for _, e := range w.audit.all() {
		if e.Principal != (audit.Principal{Kind: audit.KindAdminKey}) || e.UserID != "alice" || e.BridgeUID != "uid-alice" || e.Status != audit.Success || e.ID == "" || e.SourceIPHash == "" || e.RequestID == "" {
			t.Errorf("entry %+v", e)
		}
		acts = append(acts, strings.TrimSpace(e.Method+" "+e.Action))
	}
	if diff := cmp.Diff([]string{"admin/keys.create" + " " + made.ID, "admin/keys.list", "admin/keys.revoke" + " " + made.ID}, acts); diff != "" {
		t.Errorf("acts in the audit trail:\n%s", diff)
	}
}

func TestBodiesOfRequestsForKeys(t *testing.T) {
	w, _, _ := twoUsers(t)
	for name, test := range map[string]struct {
		body, mediaType string
		status          int
		says            string
	}{
		"nothing":            {"", "", http.StatusCreated, "hb_"},
		"another media type": {"{}", "text/plain", http.StatusUnsupportedMediaType, ""},
		"another field":      {`{"key":"x"}`, "application/json", http.StatusUnprocessableEntity, `"detail":"key: `},
		"too much":           {`{"name":"` + strings.Repeat("a", 4<<10) + `"}`, "application/json", http.StatusRequestEntityTooLarge, "4 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.request("POST", keysOfAlice, adminKey, test.body)
			r.Header.Set("Content-Type", test.mediaType)
			if got := w.do(r); got.status != test.status || !strings.Contains(got.body, test.says) {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

func TestAnActThatIsNotAuditedIsNotAnswered(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.audit.fail(errors.New("the disk is full"))
	got := w.do(w.request("POST", keysOfAlice, adminKey, "{}"))
	if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "hb_") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestQueriesForEntries(t *testing.T) {
	w, _, _ := twoUsers(t)
	position := audit.Position{TimeMS: 5, Writer: "w", Seq: 6}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for query, want := range map[string]audit.Query{
		"":  {Limit: audit.DefaultPage},
		"?": {Limit: audit.DefaultPage},
		"?userId=alice&server=My%20server&tool=a%2Fb&status=tool_error&limit=1000": {UserID: "alice", Server: "My server", Tool: "a/b", Status: audit.ToolError, Limit: 1000},
		"?server=My+server&tool=a%2Fb&limit=1":                                     {Server: "My server", Tool: "a/b", Limit: 1},
		"?from=2026-03-01&to=2026-03-01T00:00:00Z":                                 {From: at, To: at, Limit: audit.DefaultPage},
		"?views=false":                 {NoViews: true, Limit: audit.DefaultPage},
		"?views=true":                  {Limit: audit.DefaultPage},
		"?cursor=" + position.Cursor(): {Before: &position, Limit: audit.DefaultPage},
	} {
		want.Lines = true
		w.index.answer(audit.Page{}, nil)
		got := w.do(w.request("GET", "/admin/audit"+query, adminKey, ""))
		if got.status != http.StatusOK || got.body != `{"entries":[],"scope":"replica","lagSeconds":0}` {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
		if diff := cmp.Diff([]audit.Query{want}, w.index.queries()); diff != "" {
			t.Errorf("%s asks for:\n%s", query, diff)
		}
	}
}

func TestAPageOfEntries(t *testing.T) {
	w, _, _ := twoUsers(t)
	entry := audit.Entry{ID: "1", Time: time.Unix(1, 0).UTC(), UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey}, ReportedBy: audit.Bridge, Call: audit.Call{Tool: "t", Method: methods.CallTool, Status: audit.Success}}
	next := audit.Position{TimeMS: 1000, Writer: "w", Seq: 3}
	w.index.answer(audit.Page{Entries: []audit.Entry{entry}, Next: &next, Shared: true, Lag: 1500 * time.Millisecond, Lines: &audit.Lines{Count: 9, Missing: 1}}, nil)
	got := w.do(w.request("GET", "/admin/audit?userId=alice", adminKey, ""))
	var page overview.AuditPage
	if err := json.Unmarshal([]byte(got.body), &page); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(overview.AuditPage{Entries: []audit.Entry{entry}, Next: next.Cursor(), Scope: "installation", LagSeconds: 1.5, Lines: &audit.Lines{Count: 9, Missing: 1}}, page); diff != "" {
		t.Error(diff)
	}
	if acts := w.audit.all(); len(acts) != 1 || acts[0].Method != "admin/audit.query" || acts[0].UserID != "alice" {
		t.Errorf("the trail has %+v", acts)
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	w, _, _ := twoUsers(t)
	for query, says := range map[string]string{
		"user=alice":                        "userId, server",
		"userId=Alice":                      "userId",
		"userId=alice&userId=bob":           "more than once",
		"status=fine":                       "tool_error",
		"from=yesterday":                    "2026-03-01",
		"to=2026-13-01":                     "2026-03-01",
		"limit=0":                           "1 to 1000",
		"limit=1001":                        "1 to 1000",
		"limit=-1":                          "1 to 1000",
		"cursor=x":                          "cursor",
		"server=":                           "server",
		"server=%00":                        "server",
		"tool=" + strings.Repeat("a", 129):  "tool",
		"tool=a/b":                          "query_invalid",
		"tool=a;b":                          "query_invalid",
		"userId":                            "query_invalid",
		"a=b&&c=d":                          "query_invalid",
		"a=%zz":                             "query_invalid",
		"tool=" + strings.Repeat("a", 2048): "query_invalid",
	} {
		got := w.do(w.request("GET", "/admin/audit?"+query, adminKey, ""))
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, says) || !strings.Contains(got.body, "query_invalid") {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	if asked := w.index.queries(); len(asked) != 0 {
		t.Errorf("the index is asked for %+v", asked)
	}
}

func TestAnIndexThatIsAwayOrNotThere(t *testing.T) {
	w, _, _ := twoUsers(t)
	_, none := management.NoAuditIndex{}.Search(t.Context(), audit.Query{})
	for err, code := range map[error]string{none: "audit_index_disabled", errors.New("connect to 10.0.0.1: refused"): "audit_index_unavailable"} {
		w.index.answer(audit.Page{}, err)
		if got := w.do(w.request("GET", "/admin/audit", adminKey, "")); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, code) || strings.Contains(got.body, "10.0.0.1") {
			t.Errorf("%v: %d %s", err, got.status, got.body)
		}
	}
}

func TestTheAdminSurfaceHasOnlyItsMethods(t *testing.T) {
	w, _, _ := twoUsers(t)
	for path, allowed := range map[string][]string{
		"/admin/audit": {"GET"}, "/admin/analytics": {"GET"}, keysOfAlice: {"GET", "POST"}, keysOfAlice + "/abcdefghijkl": {"DELETE"},
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			got := w.do(w.request(method, path, adminKey, "")).status
			if (got == http.StatusMethodNotAllowed) == slices.Contains(allowed, method) {
				t.Errorf("%s %s: %d", method, path, got)
			}
		}
	}
	if n := w.metric("requests_total", "admin"); n == 0 {
		t.Error("administrators' requests are not counted as such")
	}
}
