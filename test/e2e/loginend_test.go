// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// endedLoginsAreOver has an administrator end the logins of a user, as of somebody
// who has lost their computer.
func endedLoginsAreOver(t *testing.T) {
	n, other := newLoginTenant(t, "ending", "lena"), newLoginTenant(t, "not-ending", "lars")
	lost, ours := askAs(desk, n.url()), askAs(desk, other.url())
	before, stays := mustLogIn(t, lost, "lena"), mustLogIn(t, ours, "lars")
	admin(t).must(t, http.StatusNoContent, http.MethodDelete, "/admin/users/"+n.name+"/logins", "")
	if got := askTokens(t, lost.refresh(before.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("the refresh token of before: status %d, error %q", got.status, got.Error)
	}
	if got := askTokens(t, ours.refresh(stays.Refresh)); got.status != http.StatusOK {
		t.Errorf("somebody else's: status %d, error %q", got.status, got.Error)
	}
	again := askAs(desk, n.url())
	got := mustLogIn(t, again, "lena")
	if err := mustSend(t, n.url(), got.Access, modernCall).toolAnswered(); err != nil {
		t.Errorf("after another login: %v", err)
	}
	if got := askTokens(t, again.refresh(got.Refresh)); got.status != http.StatusOK {
		t.Errorf("its refresh token: status %d, error %q", got.status, got.Error)
	}
}
