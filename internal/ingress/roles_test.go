// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// withRoles makes a token one of an administrator's.
func withRoles(roles ...oauth.Role) func(*oauth.Token) {
	return func(t *oauth.Token) { t.Own, t.Issuer, t.Roles, t.Read, t.Call = true, publicURL, roles, false, false }
}

func TestARoleAllowsItsRoutes(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	admin := tokens.add("admin", "ann", oauth.AdminPath, withRoles(oauth.RoleAdmin))
	auditor := tokens.add("auditor", "aude", oauth.AdminPath, withRoles(oauth.RoleAuditor))
	curator := tokens.add("curator", "carl", oauth.AdminPath, withRoles(oauth.RoleCurator))
	both := tokens.add("both", "bo", oauth.AdminPath, withRoles(oauth.RoleAuditor, oauth.RoleCurator))
	const ok, no = http.StatusOK, http.StatusForbidden
	for _, tt := range []struct {
		method, path, body              string
		admin, auditor, curator, either int
	}{
		{"GET", keysOfAlice, "", ok, ok, no, ok},
		{"GET", "/admin/audit", "", ok, ok, no, ok},
		{"GET", "/admin/analytics", "", ok, ok, no, ok},
		{"GET", "/admin/users", "", ok, ok, no, ok},
		{"GET", "/admin/users/alice", "", ok, ok, no, ok},
		{"GET", "/admin/problems", "", ok, ok, no, ok},
		{"POST", "/admin/users/alice/wake", "", ok, no, no, no},
		{"POST", keysOfAlice, "{}", http.StatusCreated, no, no, no},
		{"DELETE", keysOfAlice + "/abcdefgh", "", http.StatusNotFound, no, no, no},
	} {
		for token, want := range map[string]int{admin: tt.admin, auditor: tt.auditor, curator: tt.curator, both: tt.either} {
			got := w.do(w.request(tt.method, tt.path, token, tt.body))
			if got.status != want || want == no && !strings.Contains(got.body, `"role_needed"`) {
				t.Errorf("%s %s with %s: %d %s, want %d", tt.method, tt.path, token, got.status, got.body, want)
			}
		}
	}
	if got := w.do(w.request("POST", keysOfAlice, curator, "{}")); !strings.Contains(got.body, "This needs the role admin.") {
		t.Error(got.body)
	}
	if got := w.do(w.request("GET", keysOfAlice, curator, "")); !strings.Contains(got.body, "This needs the role admin or auditor.") {
		t.Error(got.body)
	}
}

func TestTokensThatAreOfNoAdministrator(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	for name, tt := range map[string]struct {
		token  string
		status int
	}{
		"a token for a bridge":         {tokens.add("bridge", "alice", "/u/alice/mcp", nil), http.StatusUnauthorized},
		"one for a bridge, with roles": {tokens.add("bridge-roles", "alice", "/mcp", withRoles(oauth.RoleAdmin)), http.StatusUnauthorized},
		"one without roles":            {tokens.add("none", "alice", oauth.AdminPath, withRoles()), http.StatusUnauthorized},
		"one of another server": {tokens.add("foreign", "alice", oauth.AdminPath, func(t *oauth.Token) {
			t.Roles = []oauth.Role{oauth.RoleAdmin}
		}), http.StatusUnauthorized},
		"one that has ended": {tokens.add("ended", "alice", oauth.AdminPath, func(t *oauth.Token) {
			withRoles(oauth.RoleAdmin)(t)
			t.Expires = time.Now().Add(-time.Hour)
		}), http.StatusUnauthorized},
		"no token": {"a.b.c", http.StatusUnauthorized},
	} {
		if got := w.do(w.request("GET", keysOfAlice, tt.token, "")); got.status != tt.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	admin := tokens.add("admin", "ann", oauth.AdminPath, withRoles(oauth.RoleAdmin))
	if got := w.do(w.request("GET", "/u/alice/mcp", admin, "")); got.status != http.StatusUnauthorized {
		t.Errorf("an administrator's token opens a bridge: %d", got.status)
	}
	w.adminKey = nil
	if got := w.do(w.request("GET", keysOfAlice, admin, "")); got.status != http.StatusOK {
		t.Errorf("without an admin key: %d %s", got.status, got.body)
	}
	tokens.mu.Lock()
	tokens.away = true
	tokens.mu.Unlock()
	another := tokens.add("another", "ann", oauth.AdminPath, withRoles(oauth.RoleAdmin))
	if got := w.do(w.request("GET", keysOfAlice, another, "")); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "login_unavailable") {
		t.Errorf("while the keys are not known: %d %s", got.status, got.body)
	}
}

func TestAttemptsWithTokensOfAdministratorsAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, _ := loginWorld(t)
		last := 0
		for range authn.SourceBurst + 20 {
			last = w.do(w.request("GET", keysOfAlice, "a.b.c", "")).status
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the last of many attempts is answered %d", last)
		}
	})
}

func TestTheAuditTrailNamesAnAdministratorWhoLoggedIn(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	admin := tokens.add("admin", "ann", oauth.AdminPath, withRoles(oauth.RoleAdmin))
	if got := w.do(w.request("POST", keysOfAlice, admin, "{}")); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.do(w.request("POST", keysOfAlice, adminKey, "{}"))
	var who []audit.Principal
	for _, e := range w.audit.all() {
		if e.Method == "admin/keys.create" {
			who = append(who, e.Principal)
		}
	}
	want := []audit.Principal{
		{Kind: audit.KindOAuth, ID: oauth.KeyOf(issuerURL, "ann").String(), Issuer: publicURL, Role: "admin"},
		{Kind: audit.KindAdminKey},
	}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Errorf("principals (-want +got):\n%s", diff)
	}
}
