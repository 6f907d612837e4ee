// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// warning begins what a page says of a bridge that only its authors speak for.
const warning = "This installation did not make the bridge"

// claimOf returns a claim of an access token, empty if it has none.
func claimOf(t testing.TB, access, name string) string {
	t.Helper()
	var claims map[string]any
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(access, ".")[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, _ := claims[name].(string)
	return text
}

// Whoever edits HostedBridges in some namespace names alice, before or after she
// logged in.
func TestAStrangersBridgeKeepsNobodyFromTheirOwn(t *testing.T) {
	c := deskFor(everyone)
	w := newWorld(t)
	access, refresh := w.logIn(c, "alice")
	for range 2 { // Again, with another UID.
		w.users.claims("mallory", "a-first", "alice")
		if got := claimOf(t, access, "hb_bridge"); got != "uid-alice-0" {
			t.Errorf("the token is for %q", got)
		}
		access, refresh = w.mustRedeem(c.refreshes(refresh))
	}
	b := w.browser()
	shown := b.comesTo(c, "alice")
	if got := bridgesOf(shown); !cmp.Equal(got, []string{"uid-alice-0"}) || strings.Contains(shown.body, warning) || strings.Contains(shown.body, "a-first") {
		t.Errorf("alice is asked about %q: %s", got, shown.body)
	}
	b.answers(shown, "allow").location(t)
}

func TestANewcomerGetsTheirOwnBridgeUnlessTheyChooseAnother(t *testing.T) {
	c := deskFor(everyone)
	for _, chosen := range []string{newBridge, "uid-team-1"} {
		w := newWorld(t)
		w.users.welcome["eve"] = "u-eve"
		b := w.browser()
		w.users.claims("mallory", "team", "eve")
		shown := b.comesTo(c, "eve")
		if diff := cmp.Diff([]string{newBridge, "uid-team-1"}, bridgesOf(shown)); diff != "" || strings.Contains(shown.body, "checked") {
			t.Errorf("(-want +got):\n%s%s", diff, shown.body)
		}
		for _, words := range []string{"<strong>u-eve</strong>, which is made for you", warning + " <strong>team</strong> for you", "<strong>mallory</strong>"} {
			page(t, shown, http.StatusOK, words)
		}
		page(t, b.chooses(shown, "allow", ""), http.StatusBadRequest, "This login is over")
		code := b.chooses(shown, "allow", chosen).location(t).Query().Get("code")
		access, refresh := w.mustRedeem(c.redeems(code))
		want := strings.Replace(chosen, newBridge, "uid-u-eve-0", 1)
		if got := claimOf(t, access, "hb_bridge"); got != want {
			t.Errorf("the token is for %q, want %q", got, want)
		}
		access, _ = w.mustRedeem(c.refreshes(refresh))
		if got := claimOf(t, access, "hb_bridge"); got != want {
			t.Errorf("after a refresh the token is for %q, want %q", got, want)
		}
		if made := len(w.users.bridges["eve"]) == 2; made != (chosen == newBridge) {
			t.Errorf("eve has %v", w.users.bridges["eve"])
		}
	}
}

// The stranger names the newcomer between the page and the answer.
func TestANewcomersAnswerIsForTheBridgeThatTheySaw(t *testing.T) {
	w := newWorld(t)
	w.users.welcome["eve"] = "u-eve"
	b, c := w.browser(), deskFor(everyone)
	shown := b.comesTo(c, "eve")
	w.users.claims("mallory", "team", "eve")
	access, _ := w.mustRedeem(c.redeems(b.answers(shown, "allow").location(t).Query().Get("code")))
	if got := claimOf(t, access, "hb_bridge"); got != "uid-u-eve-0" {
		t.Errorf("the token is for %q", got)
	}
}

func TestAGrantIsForTheBridgeThatItsPersonAgreedTo(t *testing.T) {
	c := deskFor(everyone)
	w := newWorld(t)
	w.users.claims("team-a", "team", "tom")
	b := w.browser()
	shown := b.comesTo(c, "tom")
	page(t, shown, http.StatusOK, "<strong>team</strong> in the namespace <strong>team-a</strong>")
	page(t, shown, http.StatusOK, warning)
	access, refresh := w.mustRedeem(c.redeems(b.answers(shown, "allow").location(t).Query().Get("code")))
	if got := claimOf(t, access, "hb_bridge"); got != "uid-team-1" {
		t.Errorf("the token is for %q", got)
	}
	// Others cannot end it, nor lead it elsewhere.
	w.users.claims("mallory", "mallory", "tom")
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	// Nor can they take the name over after the bridge was deleted.
	w.users.claims("mallory", "team", "tom")
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	w.users.set("tom", "mallory")
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if got := bridgesOf(w.browser().comesTo(c, "tom")); !cmp.Equal(got, []string{"uid-mallory-1"}) {
		t.Errorf("tom is asked about %q", got)
	}
}

func TestAGrantOfAnEarlierVersionIsForWhatNeedsNoAgreement(t *testing.T) {
	c := deskFor(everyone)
	for _, test := range []struct {
		name    string
		strange []v1alpha1.UserID
		own     bool
		ruled   v1alpha1.UserID
		want    string // Empty: it ends.
	}{
		{"the own bridge alone", nil, true, "", "uid-alice-0"},
		{"the own bridge beside a stranger's", []v1alpha1.UserID{"a-first"}, true, "", "uid-alice-0"},
		{"the own bridge before that of the rule", []v1alpha1.UserID{"a-first"}, true, "a-first", "uid-alice-0"},
		{"that of the rule beside a stranger's", []v1alpha1.UserID{"a-first", "ruled"}, false, "ruled", "uid-ruled-1"},
		{"a stranger's", []v1alpha1.UserID{"a-first"}, false, "", ""},
		{"none", nil, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.provider.user["alice"] = test.ruled
			_, refresh := w.logIn(c, "alice")
			w.store.forgetBridges(t)
			if !test.own {
				w.users.set("alice")
			}
			for _, user := range test.strange {
				w.users.claims("mallory", user, "alice")
			}
			if test.want == "" {
				refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
				return
			}
			access, _ := w.mustRedeem(c.refreshes(refresh))
			if got := claimOf(t, access, "hb_bridge"); got != test.want {
				t.Errorf("the token is for %q", got)
			}
			if !strings.Contains(w.store.dump(), test.want) {
				t.Error("the grant does not name its bridge from then on")
			}
		})
	}
}

// forgetBridges makes the grants those of a version that did not note bridges.
func (m *memory) forgetBridges(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.entries {
		var g map[string]any
		if !strings.HasPrefix(key, "grant/") {
			continue
		}
		must.Succeed(t, json.Unmarshal(e.value, &g))
		delete(g, "bridge")
		delete(g, "user")
		value := must.Value(json.Marshal(g))(t)
		m.entries[key] = entry{value, e.expires}
	}
}

func TestOneNamespaceCannotHideTheBridgesOfOthers(t *testing.T) {
	w := newWorld(t)
	for i := range 5 * maxPerNamespace {
		w.users.claims("mallory", v1alpha1.UserID(fmt.Sprintf("a-%02d", i)), "tom")
	}
	w.users.claims("team-a", "team", "tom")
	got := bridgesOf(w.browser().comesTo(deskFor(everyone), "tom"))
	if len(got) != maxPerNamespace+1 || got[maxPerNamespace] != "uid-team-1" {
		t.Errorf("tom is asked about %q", got)
	}
}

func TestThePathNamesTheBridge(t *testing.T) {
	w := newWorld(t)
	w.users.claims("team-a", "team", "alice")
	c := deskFor(issuer + "/u/team/mcp")
	b := w.browser()
	shown := b.comesTo(c, "alice")
	page(t, shown, http.StatusOK, warning+" <strong>team</strong>")
	access, refresh := w.mustRedeem(c.redeems(b.answers(shown, "allow").location(t).Query().Get("code")))
	if got := claimOf(t, access, "hb_bridge"); got != "" {
		t.Errorf("the token is for %q beside its URL", got)
	}
	w.users.claims("mallory", "other", "alice")
	w.mustRedeem(c.refreshes(refresh))
}

func TestTheAuditTrailNamesTheBridgeThatAPersonAgreedTo(t *testing.T) {
	w := newWorld(t)
	w.logIn(deskFor(everyone), "alice")
	if acts := w.audited(); len(acts) != 1 || acts[0].User != "alice" {
		t.Errorf("audited: %+v", acts)
	}
}
