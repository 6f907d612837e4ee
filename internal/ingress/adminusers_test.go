// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	people "github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// fakeUsers are the users of a world.
type fakeUsers struct {
	*world

	err error
}

// State implements management.Users.
func (f *fakeUsers) State(context.Context) (overview.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := overview.State{Now: time.Now()}
	for _, b := range f.bridges {
		s.Bridges = append(s.Bridges, effective.Of(b))
	}
	for _, p := range f.persons {
		s.Persons = append(s.Persons, *p)
	}
	return s, f.err
}

// User implements management.Users.
func (f *fakeUsers) User(ctx context.Context, user v1alpha1.UserID) (overview.Detail, error) {
	s, err := f.State(ctx)
	if err != nil {
		return overview.Detail{}, err
	}
	for _, b := range s.Bridges {
		if b.User() == user {
			return s.DetailOf(b), nil
		}
	}
	return overview.Detail{}, people.ErrNoUser
}

func TestAdministratorsFindUsers(t *testing.T) {
	w, _, _ := twoUsers(t)
	for _, b := range w.bridges {
		b.Status.ServerStates = []v1alpha1.ServerState{{Name: "mail", State: v1alpha1.ServerUnhealthy, Reason: "CredentialsRefused", Message: "the server refuses TOKEN"}}
	}
	for path, want := range map[string]string{
		"/admin/users":                           `"user":"alice"`,
		"/admin/users?search=bo":                 `"matched":1,"total":2`,
		"/admin/users?limit=1":                   `"next":"alice"`,
		"/admin/users?limit=1&cursor=alice":      `"user":"bob"`,
		"/admin/users?reason=CredentialsRefused": `"matched":2`,
		"/admin/users?phase=Failed":              `"users":[]`,
		"/admin/users/alice":                     `"serverStates":[{"name":"mail"`,
		"/admin/problems":                        `"named":["alice","bob"]`,
	} {
		got := w.do(w.request("GET", path, adminKey, ""))
		if got.status != http.StatusOK || !strings.Contains(got.body, want) || got.header.Get("Cache-Control") != "no-store" || !json.Valid([]byte(got.body)) {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
		}
	}
	for path, want := range map[string]string{
		"/admin/users?phase=Running2":                     "phase: it must be one of Pending, Running",
		"/admin/users?limit=201":                          "limit: it must be a number from 1 to 200",
		"/admin/users?limit=0":                            "limit: it must be",
		"/admin/users?cursor=Alice":                       "cursor: ",
		"/admin/users?search=":                            "search: it must be a text of 1 to 253 bytes",
		"/admin/users?name=alice":                         "the parameters are search, phase, profile, group, tier, reason, server, cursor and limit",
		"/admin/users?tier=a&tier=b":                      "tier is given more than once",
		"/admin/users?search=a;b":                         "A parameter of the query is unknown",
		"/admin/users?search=" + strings.Repeat("a", 254): "search: it must be a text",
	} {
		got := w.do(w.request("GET", path, adminKey, ""))
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
		}
	}
	if got := w.do(w.request("GET", "/admin/users/nobody", adminKey, "")); got.status != http.StatusNotFound {
		t.Errorf("a user that there is not: %d", got.status)
	}
	w.users.err = errors.New("no word yet")
	for _, path := range []string{"/admin/users", "/admin/users/alice", "/admin/problems"} {
		if got := w.do(w.request("GET", path, adminKey, "")); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "no word") {
			t.Errorf("%s without the cluster: %d %s", path, got.status, got.body)
		}
	}
}

func TestAWakeIsAnsweredAtOnce(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.sleep("alice")
	const path, entry = "/admin/users/alice/wake", "admin/bridge.wake"
	for _, tt := range []struct {
		path   string
		err    error
		status int
		says   string
		// trail is the status of the entry, empty for none.
		trail audit.Status
	}{
		{path, nil, http.StatusOK, `{"user":"alice","waking":true}`, audit.Success},
		{"/admin/users/bob/wake", nil, http.StatusOK, `{"user":"bob","waking":false}`, audit.Success},
		{path, errors.New("connection reset"), http.StatusServiceUnavailable, "cluster_unavailable", audit.UpstreamError},
		{"/admin/users/nobody/wake", nil, http.StatusNotFound, "not_found", ""},
	} {
		w.onWake(func(context.Context, route.Backend) error { return tt.err })
		before := len(w.audit.all())
		got := w.do(w.request("POST", tt.path, adminKey, ""))
		if got.status != tt.status || !strings.Contains(got.body, tt.says) || strings.Contains(got.body, "reset") {
			t.Errorf("%s: %d %s", tt.path, got.status, got.body)
		}
		var trail audit.Status
		if entries := w.audit.all()[before:]; len(entries) == 1 && entries[0].Method == entry {
			trail = entries[0].Status
		}
		if trail != tt.trail {
			t.Errorf("%s: the trail has %+v", tt.path, w.audit.all()[before:])
		}
	}
	if woken := w.activity.wakes(); len(woken) != 2 || woken[0] != "uid-alice" {
		t.Errorf("woken %q", woken)
	}
}
