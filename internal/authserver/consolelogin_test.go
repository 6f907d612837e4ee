// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// entered is who came to the console, and to which page.
type entered struct {
	User v1alpha1.UserID
	Who  string
	Next string
}

// consoleWorld returns a world with a console, and who came to it.
func consoleWorld(t *testing.T) (*world, *[]entered) {
	t.Helper()
	var came []entered
	w := newWorld(t, func(o *Options) {
		o.Console = func(c httpapi.Call, who httpapi.Identity, next string) error {
			came = append(came, entered{who.User, who.Subject.String(), next})
			c.Writer().WriteHeader(http.StatusNoContent)
			return nil
		}
	})
	return w, &came
}

func subjectOf(who string) string { return oauth.KeyOf("https://idp.example", who).String() }

func TestAPersonComesToTheConsole(t *testing.T) {
	w, came := consoleWorld(t)
	b := w.browser()
	got := b.get(back(t, b.get(ConsolePath+"?next=/keys"), "alice"))
	if diff := cmp.Diff([]entered{{"alice", subjectOf("alice"), "/keys"}}, *came); diff != "" || got.status != http.StatusNoContent {
		t.Errorf("%d %s\n%s", got.status, got.body, diff)
	}
}

func TestAPersonWithSeveralBridgesChooses(t *testing.T) {
	w, came := consoleWorld(t)
	b := w.browser()
	asked := b.get(back(t, b.get(ConsolePath+"?next=/keys"), "amy"))
	page(t, asked, http.StatusOK, "<strong>team</strong>")
	of := bridgesOf(asked)
	form := url.Values{"login": {fieldOf(t, asked)}, "bridge": {of[len(of)-1]}}
	if got := w.browser().post(ConsolePath, form); got.status != http.StatusBadRequest || len(*came) > 0 {
		t.Errorf("in another browser: %d", got.status)
	}
	if got := b.post(ConsolePath, url.Values{"login": form["login"], "bridge": {"uid-of-nobody"}}); got.status < http.StatusBadRequest {
		t.Errorf("another bridge: %d", got.status)
	}
	b.post(ConsolePath, form)
	if diff := cmp.Diff([]entered{{"team", subjectOf("amy"), "/keys"}}, *came); diff != "" {
		t.Error(diff)
	}
	if got := b.post(ConsolePath, form); got.status != http.StatusBadRequest || len(*came) != 1 {
		t.Errorf("a second time: %d", got.status)
	}
}

func TestAStrangersBridgeIsNotEnteredUnasked(t *testing.T) {
	w, came := consoleWorld(t)
	w.users.foreign["alice"] = "elsewhere"
	b := w.browser()
	asked := b.get(back(t, b.get(ConsolePath), "alice"))
	page(t, asked, http.StatusOK, "This installation did not make the bridge <strong>alice</strong> for you.")
	if len(*came) > 0 {
		t.Errorf("%v came without being asked", *came)
	}
	b.post(ConsolePath, url.Values{"login": {fieldOf(t, asked)}, "bridge": bridgesOf(asked)})
	if len(*came) != 1 {
		t.Errorf("%v came", *came)
	}
}

func TestAFirstLoginToTheConsoleMakesABridge(t *testing.T) {
	w, came := consoleWorld(t)
	w.users.welcome["nora"] = "u-nora"
	b := w.browser()
	asked := b.get(back(t, b.get(ConsolePath), "nora"))
	page(t, asked, http.StatusOK, "<strong>u-nora</strong>, which is made for you when you go on")
	if len(w.users.bridges["nora"]) > 0 {
		t.Error("the bridge is made before the person goes on")
	}
	b.post(ConsolePath, url.Values{"login": {fieldOf(t, asked)}, "bridge": {"new"}})
	if diff := cmp.Diff([]entered{{"u-nora", subjectOf("nora"), ""}}, *came); diff != "" {
		t.Error(diff)
	}
}

func TestWhoHasNoBridgeDoesNotComeToTheConsole(t *testing.T) {
	w, came := consoleWorld(t)
	b := w.browser()
	got := b.get(back(t, b.get(ConsolePath), "stranger"))
	page(t, got, http.StatusForbidden, "You have no bridge here")
	if len(*came) > 0 || !strings.Contains(got.body, "<code>stranger</code>") {
		t.Errorf("%v: %s", *came, got.body)
	}
}

func TestThereIsNoLoginToAConsoleThatIsNotServed(t *testing.T) {
	w := newWorld(t)
	if _, ok := w.replicas[0].Target(ConsolePath); ok {
		t.Error("the path is served")
	}
}
