// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// change changes what the world knows of users.
func (u *fakeUsers) change(how func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	how()
}

func TestAPersonWithoutAccessCannotLogInNorRefresh(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	under := w.browser()
	asked := under.comesTo(c, "alice")
	w.users.change(func() { w.users.closed = map[string]bool{"alice": true} })

	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if got := under.answers(asked, "allow"); got.status == http.StatusSeeOther || got.status == http.StatusFound {
		t.Errorf("a consent page that was open leads to %s", got.header.Get("Location"))
	}
	page(t, w.browser().comesTo(c, "alice"), http.StatusForbidden, "Your access to this installation was taken away")

	w.wait(time.Second)
	w.users.change(func() {
		w.users.closed = nil
		w.users.ended = map[string]time.Time{"alice": w.now()}
	})
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	w.wait(time.Second)
	w.logIn(c, "alice")
}

// TestAFirstRefreshOfSomebodyWhoLostTheirAccessEndsTheGrant is about the minute in which a
// replica may not know a bridge that was made for the login.
func TestAFirstRefreshOfSomebodyWhoLostTheirAccessEndsTheGrant(t *testing.T) {
	for name, take := range map[string]func(*world){
		"taken away":             func(w *world) { w.users.closed = map[string]bool{"nora": true} },
		"taken and given back":   func(w *world) { w.users.ended = map[string]time.Time{"nora": w.now()} },
		"the bridge is not seen": func(w *world) { w.users.bridges["nora"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.users.welcome["nora"] = "u-nora"
			c := deskFor(everyone)
			_, refresh := w.logIn(c, "nora")
			made := w.users.bridges["nora"]
			w.users.change(func() { take(w) })
			if w.users.bridges["nora"] == nil {
				refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusServiceUnavailable, codeUnavailable)
			} else {
				refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
			}
			w.users.change(func() { w.users.closed, w.users.ended, w.users.bridges["nora"] = nil, nil, made })
			if again := w.program(pathToken, c.refreshes(refresh)); (again.status == http.StatusOK) != (name == "the bridge is not seen") {
				t.Errorf("with access again: %d", again.status)
			}
		})
	}
}

func TestALoginFromBeforeLoginsEndedDoesNotComeBack(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	b := w.browser()
	asked := b.comesTo(c, "alice")
	w.wait(time.Second)
	w.users.change(func() { w.users.ended = map[string]time.Time{"alice": w.now()} })
	w.wait(time.Second)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if got := b.answers(asked, "allow"); got.status == http.StatusSeeOther || got.status == http.StatusFound {
		t.Errorf("a consent page from before leads to %s", got.header.Get("Location"))
	}
	w.logIn(c, "alice")
}

func TestAnAdministratorWithoutAccessGetsNoToken(t *testing.T) {
	w := rolesWorld(t)
	w.users.change(func() { w.users.closed = map[string]bool{"ann": true} })
	got := w.administers([]string{string(oauth.RoleAdmin), "platform"})
	page(t, got, http.StatusForbidden, "You have no access")
	if tokenInPage.MatchString(got.body) {
		t.Error("the page has a token")
	}
}
