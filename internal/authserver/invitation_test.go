// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const invitations = "/admin/users/bob/invitations"

// invite has an administrator invite somebody to bob's bridge.
func (w *world) invite() answer {
	return w.send(http.MethodPost, invitations, "", http.Header{"X-Api-Key": {"admin"}})
}

// invited returns the link of an invitation.
func (w *world) invited() string {
	w.t.Helper()
	a := w.invite()
	if a.status != http.StatusCreated || !strings.HasPrefix(a.json("url"), issuer+"/oauth/invitation?code=") {
		w.t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a.json("url")
}

// takes has who log in for an invitation.
func (b *browser) takes(link, who string) answer {
	b.w.t.Helper()
	shown := b.get(link)
	links := linksOf(shown)
	if shown.status != http.StatusOK || len(links) == 0 {
		b.w.t.Fatalf("status %d: %s", shown.status, shown.body)
	}
	return b.get(back(b.w.t, b.get(links[0]), who))
}

func TestSomebodyTakesAnInvitation(t *testing.T) {
	w := newWorld(t)
	w.users.invites = true
	made := w.invite()
	if got := made.json("expiresAt"); got != "2026-11-29T12:00:00Z" || made.header.Get("Cache-Control") != "no-store" {
		t.Errorf("it ends at %s; %v", got, made.header)
	}
	link := made.json("url")
	b := w.browser()
	page(t, b.get(link), http.StatusOK, "<strong>bob</strong>")
	got := b.takes(link, "friend")
	page(t, got, http.StatusOK, "<code>"+issuer+"/u/bob/mcp</code>")
	if !strings.Contains(got.body, "<strong>Name of friend</strong>") {
		t.Errorf("the page does not say who they are: %s", got.body)
	}
	login := oauth.KeyOf("https://idp.example", "friend").String()
	want := []httpapi.Act{{Name: "invitations.create", Target: "bob", User: "bob"}, {Name: "join", Target: "bob", Login: login, User: "bob"}}
	if diff := cmp.Diff(want, w.audited()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
	w.logIn(deskFor(issuer+"/u/bob/mcp"), "friend")
	page(t, w.browser().get(link), http.StatusBadRequest, "This invitation is over")
}

func TestInvitationsThatCannotBeTaken(t *testing.T) {
	const over = "This invitation is over"
	for _, test := range []struct {
		name   string
		comes  func(w *world, b *browser, link string) answer
		status int
		words  string
	}{
		{"by nobody's code", func(_ *world, b *browser, _ string) answer {
			return b.get(pathInvitation + "?code=" + strings.Repeat("A", 43))
		}, http.StatusBadRequest, over},
		{"without a code", func(_ *world, b *browser, _ string) answer { return b.get(pathInvitation) }, http.StatusBadRequest, over},
		{"by two codes", func(_ *world, b *browser, link string) answer { return b.get(link + "&code=x") }, http.StatusBadRequest, over},
		{"too late", func(w *world, b *browser, link string) answer {
			w.wait(invitationLife)
			return b.get(link)
		}, http.StatusBadRequest, over},
		{"by two people", func(_ *world, b *browser, link string) answer {
			second := linksOf(b.get(link))[0]
			b.takes(link, "friend")
			return b.get(back(b.w.t, b.get(second), "other"))
		}, http.StatusBadRequest, over},
		{"where another bridge has the user id", func(w *world, b *browser, link string) answer {
			w.users.claims("people", "bob")
			return b.takes(link, "friend")
		}, http.StatusBadRequest, over},
		{"where nobody is let in", func(w *world, b *browser, link string) answer {
			w.users.invites = false
			return b.takes(link, "friend")
		}, http.StatusBadRequest, over},
		{"while the store is away", func(w *world, b *browser, link string) answer {
			w.store.fail("get")
			return b.get(link)
		}, http.StatusServiceUnavailable, "at the moment"},
		{"where the trail cannot be written", func(w *world, b *browser, link string) answer {
			w.auditErr = errFake
			return b.takes(link, "friend")
		}, http.StatusServiceUnavailable, "at the moment"},
		{"by who did not log in", func(_ *world, b *browser, link string) answer {
			gone := back(b.w.t, b.get(linksOf(b.get(link))[0]), "friend")
			return b.get(strings.Replace(gone, "code=as-friend", "error=access_denied", 1))
		}, http.StatusForbidden, "could not be logged in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.users.invites = true
			page(t, test.comes(w, w.browser(), w.invited()), test.status, test.words)
			if test.name != "where the trail cannot be written" && len(w.users.bridges["other"])+len(w.users.bridges["friend"]) > 1 {
				t.Errorf("bridges %v", w.users.bridges)
			}
		})
	}
}

func TestAnInvitationIsGoodAgainWhereItCouldNotBeTaken(t *testing.T) {
	w := newWorld(t)
	w.users.invites = true
	link := w.invited()
	w.wait(24 * time.Hour)
	w.users.away = true
	page(t, w.browser().takes(link, "friend"), http.StatusServiceUnavailable, "at the moment")
	w.users.away = false
	page(t, w.browser().takes(link, "friend"), http.StatusOK, "Welcome")
	again := w.invited()
	w.wait(invitationLife)
	page(t, w.browser().get(again), http.StatusBadRequest, "This invitation is over")
}

// A link of another site cannot have somebody take an invitation without a word:
// they would use another's bridge as if it were theirs.
func TestAnInvitationIsTakenByWhoSawItsPage(t *testing.T) {
	w := newWorld(t)
	w.users.invites = true
	attacker := w.browser()
	login := linksOf(attacker.get(w.invited()))[0]
	page(t, w.browser().get(login), http.StatusBadRequest, "This login is over")
	page(t, w.browser().get(back(t, attacker.get(login), "alice")), http.StatusBadRequest, "This login is over")
	if diff := cmp.Diff(1, len(w.users.bridges["alice"])); diff != "" {
		t.Errorf("bridges of alice (-want +got):\n%s", diff)
	}
}

func TestOnlyAdministratorsInvite(t *testing.T) {
	w := newWorld(t)
	if a := w.send(http.MethodPost, invitations, "", nil); a.status != http.StatusForbidden {
		t.Errorf("status %d", a.status)
	}
	w.store.fail("put")
	if a := w.invite(); a.status != http.StatusServiceUnavailable || a.json("code") != "login_store_unavailable" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	w.store.works()
	w.auditErr = errFake
	if a := w.invite(); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "code=") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestWithoutInvitationsNobodyIsInvited(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Invitations = false })
	for _, r := range w.replicas[0].Routes() {
		if r.Path == pathInvitation || strings.HasSuffix(r.Path, "/invitations") {
			t.Errorf("there is %s %s", r.Method, r.Path)
		}
	}
}
