// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// untilRenewal is after which time a refresh asks the provider, and untilRetry where the
// grant gives no tokens before the provider has answered.
const (
	untilRenewal = 5 * time.Minute
	untilRetry   = time.Minute
)

// renewingWorld returns a world whose provider names groups and gives refresh tokens.
func renewingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.provider.change(func() { w.provider.refreshes, w.provider.groups = map[string]string{}, map[string][]string{} })
	w.setGroups("eng", "ops")
	t.Cleanup(func() {
		if strings.Contains(w.store.dump(), "geheim") || strings.Contains(w.logs.String(), "geheim") {
			t.Error("the provider's refresh token is in the store or in the log")
		}
	})
	return w
}

// setGroups sets the groups that the provider names of alice.
func (w *world) setGroups(groups ...string) {
	w.provider.change(func() { w.provider.groups["alice"] = groups })
}

// expectGroups fails the test unless these groups of alice are recorded, and the provider
// was asked so often without her.
func (w *world) expectGroups(asked int, groups ...string) {
	w.t.Helper()
	if diff := cmp.Diff(groups, w.users.groupsOf("alice")); diff != "" {
		w.t.Errorf("groups (-want +got):\n%s", diff)
	}
	w.provider.change(func() {
		if w.provider.asked != asked {
			w.t.Errorf("the provider was asked %d times, want %d", w.provider.asked, asked)
		}
	})
}

func TestGroupsAreRecordedAtLoginsAndRefreshes(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.expectGroups(0, "eng", "ops")

	w.setGroups("eng")
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(1, "eng")

	none := []string{}
	w.setGroups(none...)
	w.wait(untilRenewal - time.Second)
	_, refresh = w.mustRedeem(c.refreshes(refresh)) // The provider was asked a moment ago.
	w.expectGroups(1, "eng")
	w.wait(time.Second)
	w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(2, none...)
}

// Many providers take a refresh token once, and end the login if it comes twice.
func TestOfSeveralRefreshesOneAsksTheProvider(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.wait(untilRenewal)
	var other answer
	w.provider.change(func() { w.provider.before = func() { other = w.program(pathToken, c.refreshes(refresh)) } })
	_, second := w.mustRedeem(c.refreshes(refresh))
	if other.status != http.StatusOK || other.json("refresh_token") != second {
		t.Fatalf("the other request: status %d, the same token: %v", other.status, other.json("refresh_token") == second)
	}
	w.expectGroups(1, "eng", "ops")
	w.wait(untilRenewal)
	w.mustRedeem(c.refreshes(second)) // With the refresh token that the provider gave last.
	w.expectGroups(2, "eng", "ops")
}

// A request that changes the grant first makes no replay of the one after it.
func TestARequestThatFindsARenewalGetsTokens(t *testing.T) {
	for _, first := range []int{1, 2, 3} {
		w := renewingWorld(t)
		c := deskFor(alices)
		_, refresh := w.logIn(c, "alice")
		w.wait(untilRenewal)
		swaps := 0
		var other answer
		var before func()
		before = func() {
			if swaps++; swaps == first {
				other = w.program(pathToken, c.refreshes(refresh))
				return
			}
			w.store.mu.Lock()
			w.store.before = before
			w.store.mu.Unlock()
		}
		w.store.before = before
		_, second := w.mustRedeem(c.refreshes(refresh))
		if other.status != http.StatusOK || other.json("refresh_token") != second || w.replays(replayRefresh) != 0 {
			t.Fatalf("before change %d: the other request: status %d %s", first, other.status, other.body)
		}
		w.expectGroups(1, "eng", "ops")
		w.wait(untilRenewal)
		w.mustRedeem(c.refreshes(second))
	}
}

func TestAPersonWhomTheProviderLetsInNoMoreIsOut(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.wait(untilRenewal)
	w.provider.change(func() { clear(w.provider.refreshes) })
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	w.expectGroups(1, "eng", "ops")
}

func TestAProviderThatIsAwayKeepsNobodyOut(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.setGroups("eng")
	w.wait(untilRenewal)
	w.provider.change(func() { w.provider.away = true })
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.provider.change(func() { w.provider.away = false })
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(1, "eng", "ops")
	w.wait(untilRenewal)
	w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(2, "eng")
}

// A deleted person may be refused in words that are not about the person. What a provider
// confirmed an hour ago counts no more, and the grant is there when the provider is back.
func TestNobodyGetsTokensAnHourAfterTheProviderConfirmedThemLast(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.wait(50 * time.Minute)
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.provider.change(func() { w.provider.unconfirmed = map[string]bool{"alice": true} })
	for range 11 {
		w.wait(untilRenewal)
		_, refresh = w.mustRedeem(c.refreshes(refresh))
	}
	w.wait(untilRenewal)
	for range 3 {
		a := w.program(pathToken, c.refreshes(refresh))
		refused(t, a, http.StatusServiceUnavailable, codeUnavailable)
		if a.header.Get("Retry-After") == "" {
			t.Error("the client does not hear when to try again")
		}
	}
	w.expectRechecks(map[string]float64{recheckConfirmed: 1, recheckUnanswered: 11, recheckRefused: 3})
	if log := w.logs.String(); !strings.Contains(log, "a provider does not say who a person is now") {
		t.Errorf("the log is %s", log)
	}

	health := w.replicas[0].ProviderHealth()
	health = append(health, w.replicas[1].ProviderHealth()...)
	if !slices.ContainsFunc(health, func(h flow.ProviderHealth) bool {
		return h.ID == "idp" && h.Failed.Equal(w.now()) && h.Trouble == "it answers with status 500, error invalid_request"
	}) {
		t.Errorf("administrators see %+v", health)
	}

	w.provider.change(func() { w.provider.unconfirmed = nil })
	w.wait(untilRetry - time.Second)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusServiceUnavailable, codeUnavailable)
	w.wait(time.Second)
	w.mustRedeem(c.refreshes(refresh))
}

// A program that was not used for a night refreshes from several processes at once.
func TestARefreshWaitsForTheOneThatAsksTheProvider(t *testing.T) {
	for name, away := range map[string]bool{"the provider answers": false, "the provider is away": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := renewingWorld(t)
				c := deskFor(alices)
				_, refresh := w.logIn(c, "alice")
				w.wait(8 * time.Hour)
				other := make(chan answer, 1)
				w.provider.change(func() {
					w.provider.away = away
					w.provider.before = func() {
						go func() { other <- w.program(pathToken, c.refreshes(refresh)) }()
						synctest.Wait()
					}
				})
				first, second := w.program(pathToken, c.refreshes(refresh)), <-other
				if first.status != second.status || (first.status == http.StatusOK) == away || first.json("refresh_token") != second.json("refresh_token") {
					t.Errorf("status %d, and %d of the one that waits", first.status, second.status)
				}
				w.expectGroups(1, "eng", "ops")
			})
		})
	}
}

// Some providers give a refresh token only to people who consent to it each time. The login
// goes on, and administrators see that no recheck follows.
func TestAProviderThatGivesNoRefreshTokenIsReported(t *testing.T) {
	w := renewingWorld(t)
	w.provider.change(func() { w.provider.refreshes = nil })
	c := deskFor(alices)
	for range 4 {
		w.logIn(c, "alice")
	}
	w.expectRechecks(map[string]float64{recheckNoToken: 4})
	if n := strings.Count(w.logs.String(), "a provider gives no refresh token"); n == 0 || n > len(w.replicas) {
		t.Errorf("%d lines in the log", n)
	}
	noted := func() (n int) {
		for _, s := range w.replicas {
			if h := s.ProviderHealth()[0]; h.NoToken && h.Login == defaultLifetime {
				n++
			}
		}
		return n
	}
	if noted() == 0 {
		t.Error("the page of administrators does not say it")
	}
	w.provider.change(func() { w.provider.refreshes = map[string]string{} })
	for range 4 {
		w.logIn(c, "alice")
	}
	if noted() != 0 {
		t.Error("the page says it of a provider that gives refresh tokens")
	}
}

func TestALoginEndsAtTheMaxAgeOfItsProvider(t *testing.T) {
	w := newWorld(t)
	w.provider.change(func() { w.provider.limits = flow.Limits{MaxAge: 8 * time.Hour} })
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.wait(8*time.Hour - time.Second)
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.wait(time.Second)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if strings.Contains(w.store.dump(), "grant/") {
		t.Error("the grant is there")
	}
}

// An administrator may switch the recheck off while there are grants with refresh tokens.
func TestAProviderIsNotAskedAgainWhereNothingIsRechecked(t *testing.T) {
	w := renewingWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.provider.change(func() { w.provider.limits, w.provider.away = flow.Limits{}, true })
	w.wait(8 * time.Hour)
	w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(0, "eng", "ops")
	w.expectRechecks(map[string]float64{})
}

// expectRechecks fails the test unless the provider's rechecks ended so.
func (w *world) expectRechecks(want map[string]float64) {
	w.t.Helper()
	got := map[string]float64{}
	for _, outcome := range recheckOutcomes {
		for _, s := range w.replicas {
			if n := valueOf(w.t, s.metrics.Rechecks.WithLabelValues("idp", outcome)); n > 0 {
				got[outcome] += n
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("rechecks (-want +got):\n%s", diff)
	}
}

func TestARefreshTokenThatFitsIntoNoBrowserIsLeftOut(t *testing.T) {
	w := renewingWorld(t)
	w.provider.change(func() { w.provider.padding = 20_000 })
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.wait(untilRenewal)
	w.mustRedeem(c.refreshes(refresh))
	w.expectGroups(0, "eng", "ops")
}

func TestGroupsThatCannotBeRecordedKeepNobodyOut(t *testing.T) {
	w := renewingWorld(t)
	w.users.noGroups = true
	w.logIn(deskFor(alices), "alice")
	if log := w.logs.String(); !strings.Contains(log, "the groups of a person are not known") {
		t.Errorf("the log is %s", log)
	}
}

func TestAnInvitedPersonsGroupsAreRecorded(t *testing.T) {
	w := renewingWorld(t)
	w.users.invites = true
	w.provider.change(func() { w.provider.groups["friend"] = []string{"eng"} })
	page(t, w.browser().takes(w.invited(), "friend"), http.StatusOK, "Welcome")
	if diff := cmp.Diff([]string{"eng"}, w.users.groupsOf("friend")); diff != "" {
		t.Error(diff)
	}
}
