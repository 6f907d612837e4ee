// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// endLogins has an administrator end the logins for a user's bridge.
func (w *world) endLogins(user string) answer {
	return w.send(http.MethodDelete, "/admin/users/"+user+"/logins", "", http.Header{"X-Api-Key": {"admin"}})
}

func TestLoginsEndWhenAnAdministratorEndsThem(t *testing.T) {
	w := newWorld(t)
	w.users.set("bob", "bob")
	own, shared, others := deskFor(alices), deskFor(everyone), deskFor(issuer+"/u/bob/mcp")
	_, first := w.logIn(own, "alice")
	_, second := w.logIn(shared, "alice")
	_, third := w.logIn(others, "bob")
	w.audited()

	got := w.endLogins("alice")
	if got.status != http.StatusNoContent || got.body != "" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v: %s", got.status, got.header, got.body)
	}
	if diff := cmp.Diff([]httpapi.Act{{Name: "logins.delete", Target: "alice", User: "alice"}}, w.audited()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
	refused(t, w.program(pathToken, own.refreshes(first)), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, shared.refreshes(second)), http.StatusBadRequest, codeInvalidGrant)
	w.mustRedeem(others.refreshes(third))

	w.wait(time.Second)
	_, again := w.logIn(own, "alice")
	w.wait(time.Hour)
	_, again = w.mustRedeem(own.refreshes(again))

	w.endLogins("alice")
	refused(t, w.program(pathToken, own.refreshes(again)), http.StatusBadRequest, codeInvalidGrant)

	if got := w.endLogins("nobody"); got.status != http.StatusNoContent {
		t.Errorf("of somebody who is not there: status %d: %s", got.status, got.body)
	}
}

// TestALoginThatIsUnderWayEndsToo ends logins at each step after the provider has
// let the person in.
func TestALoginThatIsUnderWayEndsToo(t *testing.T) {
	w := newWorld(t)
	c, b := deskFor(alices), w.browser()
	asked := b.comesTo(c, "alice")
	w.endLogins("alice")
	w.wait(time.Minute)
	code := b.answers(asked, "allow").location(t).Query().Get("code")
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusBadRequest, codeInvalidGrant)

	code = w.browser().agrees(c, "alice")
	w.endLogins("alice")
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusBadRequest, codeInvalidGrant)
	w.wait(time.Second)
	w.logIn(c, "alice")
}

func TestLoginsThatCannotBeEnded(t *testing.T) {
	for name, broken := range map[string]func(*world){
		"while the store is away": func(w *world) { w.store.fail("put") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, refresh := w.logIn(deskFor(alices), "alice")
			broken(w)
			if got := w.endLogins("alice"); got.status < http.StatusInternalServerError {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			w.store.works()
			w.mustRedeem(deskFor(alices).refreshes(refresh))
		})
	}
}
