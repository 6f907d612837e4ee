// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// acts are the two acts on a key of alice's that is there already.
func acts(t *testing.T, w *world) map[string]func() *http.Request {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(w.do(w.request("POST", keysOfAlice, adminKey, "")).body), &made); err != nil {
		t.Fatal(err)
	}
	return map[string]func() *http.Request{
		"admin/keys.create": func() *http.Request { return w.request("POST", keysOfAlice, adminKey, "") },
		"admin/keys.revoke": func() *http.Request { return w.request("DELETE", keysOfAlice+"/"+made.ID, adminKey, "") },
	}
}

// TestAnActWhoseCallerLeavesHasItsEntry has the administrator's client leave
// when the API server has done what was asked.
func TestAnActWhoseCallerLeavesHasItsEntry(t *testing.T) {
	for _, act := range []string{"admin/keys.create", "admin/keys.revoke"} {
		t.Run(act, func(t *testing.T) {
			w, _, _ := twoUsers(t)
			request := acts(t, w)[act]()
			before := len(w.audit.all())
			ctx, leave := context.WithCancel(t.Context())
			w.keys.during = func(ctx context.Context) error {
				leave()
				if err := ctx.Err(); err != nil {
					t.Errorf("the act ends with its caller: %v", err)
				}
				return ctx.Err()
			}
			r := httptest.NewRequestWithContext(ctx, request.Method, request.URL.Path, nil)
			r.Header, r.Host = request.Header, request.Host
			w.server.ServeHTTP(httptest.NewRecorder(), r)
			if len(w.audit.all()) != before+1 {
				t.Fatalf("%d entries", len(w.audit.all())-before)
			}
			if e := w.audit.all()[before]; e.Method != act || e.Status != audit.Success || e.Action == "" {
				t.Errorf("entry %+v", e)
			}
		})
	}
}

// TestAnActOfUnknownOutcomeHasItsEntry has acts of which it is not known whether
// they were done.
func TestAnActOfUnknownOutcomeHasItsEntry(t *testing.T) {
	w, _, _ := twoUsers(t)
	all := acts(t, w)
	for name, test := range map[string]struct {
		err    error
		status int
		code   string
		unsure bool
	}{
		"no answer":         {&userkey.UnsureError{KeyID: "k7", Err: errors.New("connection reset")}, 503, "cluster_unavailable", true},
		"held by another":   {&userkey.UnsureError{KeyID: "k7", Err: &userkey.ManagedError{By: []string{"kubectl"}}}, 409, "key_managed", true},
		"it was not begun":  {errors.New("get HostedBridge: connection refused"), 503, "cluster_unavailable", false},
		"it was refused":    {userkey.ErrTooMany, 409, "key_limit_reached", false},
		"it is not there":   {userkey.ErrNoKey, 404, "key_not_found", false},
		"it was another's":  {&userkey.ManagedError{By: []string{"kubectl"}}, 409, "key_managed", false},
		"there is nothing ": {userkey.ErrNoBridge, 404, "not_found", false},
	} {
		for act, request := range all {
			w.keys.fail(test.err)
			before := len(w.audit.all())
			got := w.do(request())
			entries := w.audit.all()[before:]
			if got.status != test.status || !strings.Contains(got.body, test.code) {
				t.Errorf("%s, %s: %d %s", act, name, got.status, got.body)
			}
			if !test.unsure {
				if len(entries) != 0 {
					t.Errorf("%s, %s: %+v", act, name, entries)
				}
				continue
			}
			if len(entries) != 1 || entries[0].Method != act || entries[0].Action != "k7" || entries[0].Status != audit.UpstreamError || entries[0].ErrorType != "outcome_unknown" || entries[0].UserID != "alice" {
				t.Errorf("%s, %s: %+v", act, name, entries)
			}
		}
	}
}
