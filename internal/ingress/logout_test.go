// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// copied returns a thief with the cookies of a visitor.
func (v *visitor) copied() *visitor {
	v.w.t.Helper()
	at, err := url.Parse(v.url())
	if err != nil {
		v.w.t.Fatal(err)
	}
	thief := v.w.visitor()
	jar, err := cookiejar.New(nil)
	if err != nil {
		v.w.t.Fatal(err)
	}
	jar.SetCookies(at, v.client.Jar.Cookies(at))
	thief.client.Jar = jar
	return thief
}

func TestACopiedCookieOpensNothingAfterTheLogout(t *testing.T) {
	w := newAdminWorld(t)
	w.alice, w.bob = w.addUser("alice"), w.addUser("bob")
	for what, tt := range map[string]struct {
		v                  *visitor
		page, logout, line string
	}{
		"a session by a key":            {w.logged(w.alice), "/keys", "/logout", "user_key  user/console.logout"},
		"one by the admin key":          {w.administrator(), "/console", "/console/logout", "admin_key  admin/console.logout"},
		"one of a login, administering": {w.with(oauth.RoleAuditor), "/console", "/console/logout", "oauth auditor admin/console.logout"},
	} {
		thief := tt.v.copied()
		if got := thief.open(tt.page); got.status != http.StatusOK {
			t.Fatalf("%s: before the logout: %d", what, got.status)
		}
		if got := tt.v.submit(tt.page, tt.logout); got.status != http.StatusSeeOther {
			t.Fatalf("%s: log out: %d %s", what, got.status, got.body)
		}
		if got := thief.open(tt.page); got.status != http.StatusSeeOther || !strings.Contains(got.header.Get("Location"), "why=ended") {
			t.Errorf("%s: a copy of its cookie opens %s: %d", what, tt.page, got.status)
		}
		if !slices.ContainsFunc(w.acted(), func(act string) bool { return strings.HasPrefix(act, tt.line) }) {
			t.Errorf("%s: the trail lacks %q: %q", what, tt.line, w.acted())
		}
	}
	if got := w.logged(w.alice).open("/keys"); got.status != http.StatusOK {
		t.Errorf("a login after the logout: %d", got.status)
	}
}

func TestALogoutEndsAPersonsOtherSessionsAndNobodyElses(t *testing.T) {
	w := newAdminWorld(t)
	w.alice, w.bob = w.addUser("alice"), w.addUser("bob")
	here, elsewhere, bob := w.logged(w.alice), w.logged(w.alice), w.logged(w.bob)
	one, other := w.administrator(), w.administrator()
	here.submit("/keys", "/logout")
	one.submit("/console", "/console/logout")
	if got := elsewhere.open("/keys"); got.status != http.StatusSeeOther {
		t.Errorf("the person's session in another browser: %d", got.status)
	}
	if got := bob.open("/keys"); got.status != http.StatusOK {
		t.Errorf("the session of somebody else: %d", got.status)
	}
	if got := other.open("/console"); got.status != http.StatusOK {
		t.Errorf("another session by the admin key: %d", got.status)
	}
}

func TestALogoutThatCannotBeNotedSaysSo(t *testing.T) {
	w := newAdminWorld(t)
	w.alice = w.addUser("alice")
	w.ends.fail = errAway
	for page, v := range map[string]*visitor{"/": w.logged(w.alice), "/console": w.administrator()} {
		logout := strings.TrimSuffix(page, "/") + "/logout"
		if got := v.submit(page, logout); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "logged out in this browser") {
			t.Errorf("%s: %d %s", logout, got.status, got.body)
		}
		if got := v.open(page); strings.Contains(got.body, "Log out") {
			t.Errorf("%s: the browser is still logged in", page)
		}
	}
}

func TestALogoutEndsTheSessionsOfAPersonOfABridge(t *testing.T) {
	w := newConsoleWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuerURL, Subject: "ann"}, {Issuer: issuerURL, Subject: "ben"}}}
	})
	ann, _ := w.logsIn("ann")
	ben, _ := w.logsIn("ben")
	thief := ann.copied()
	if got := thief.open("/keys"); got.status != http.StatusOK {
		t.Fatalf("before the logout: %d %s", got.status, got.body)
	}
	ann.submit("/keys", "/logout")
	if got := thief.open("/keys"); got.status != http.StatusSeeOther {
		t.Errorf("a copy of the cookie: %d", got.status)
	}
	if got := ben.open("/keys"); got.status != http.StatusOK {
		t.Errorf("another person of the bridge: %d", got.status)
	}
}
