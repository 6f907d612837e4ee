// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// drive is how the account of alice's server drive is connected.
var drive = flow.Connection{
	User: "alice", Server: "drive", AuthorizationURL: "https://accounts.example/authorize?tenant=1", ClientID: "bridges",
	Scopes: []string{"files.read", "files.write"}, Resource: "https://drive.example/mcp", Secret: "DRIVE_LOGIN",
	TokenURL: "https://accounts.example:443/token", ServerURL: "https://drive.example/mcp",
}

// fakeConnections has drive, and bob's server of the same name.
type fakeConnections struct {
	mu   sync.Mutex
	away bool
	kept []flow.ConnectionAnswer
	// change changes what is found from then on.
	change func(*flow.Connection)
}

func (f *fakeConnections) Find(_ context.Context, user v1alpha1.UserID, server string) (flow.Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := drive
	found.User, found.Server = user, server
	if server == "mail" {
		found.AuthorizationURL, found.TokenURL = "https://evil.example:8443/authorize", "https://evil.example:8443/token"
	}
	if f.change != nil {
		f.change(&found)
	}
	switch {
	case f.away:
		return flow.Connection{}, errFake
	case (user == "alice" || user == "bob") && (server == "drive" || server == "mail"):
		return found, nil
	}
	return flow.Connection{}, flow.ErrNotFound
}

func (f *fakeConnections) Keep(_ context.Context, _ flow.Connection, answer flow.ConnectionAnswer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errFake
	}
	f.kept = append(f.kept, answer)
	return nil
}

func (f *fakeConnections) setAway(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

func (f *fakeConnections) setChange(change func(*flow.Connection)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change = change
}

func connectWorld(t *testing.T) (*world, *fakeConnections) {
	f := &fakeConnections{}
	return newWorld(t, func(o *Options) {
		o.Connections = f
		o.AccountOrigins = []AccountOrigins{{"https://accounts.google.example", "https://oauth2.googleapis.example"}}
	}), f
}

// comesToConnect logs who in to connect the account of a server.
func (b *browser) comesToConnect(path, who string) answer {
	b.w.t.Helper()
	return b.get(back(b.w.t, b.get(v1alpha1.ConnectPath+path), who))
}

// goesOn has the person sent to the account, and returns what is asked there.
func (b *browser) goesOn(page answer) (at string, asked url.Values) {
	b.w.t.Helper()
	to := b.post(pathAccount, url.Values{"login": {fieldOf(b.w.t, page)}, "answer": {"connect"}}).location(b.w.t)
	return to.Scheme + "://" + to.Host + to.Path, to.Query()
}

func TestAPersonConnectsTheAccountOfAServer(t *testing.T) {
	w, f := connectWorld(t)
	b := w.browser()
	shown := b.comesToConnect("alice/drive", "alice")
	for _, words := range []string{"Connect drive?", "Name of alice", "<strong>accounts.example</strong>", "files.write", "<strong>https://accounts.example</strong>", "<strong>https://drive.example</strong>", "not at the same place"} {
		page(t, shown, http.StatusOK, words)
	}
	at, asked := b.goesOn(shown)
	state, challenge := asked.Get("state"), asked.Get("code_challenge")
	want := url.Values{
		"tenant": {"1"}, "response_type": {"code"}, "client_id": {"bridges"}, "redirect_uri": {issuer + "/oauth/connected/accounts.example"},
		"scope": {"files.read files.write"}, "resource": {"https://drive.example/mcp"}, "code_challenge_method": {"S256"},
		"state": {state}, "code_challenge": {challenge},
	}
	if diff := cmp.Diff(want, asked); at != "https://accounts.example/authorize" || diff != "" {
		t.Errorf("asked at %s (-want +got):\n%s", at, diff)
	}
	page(t, b.get("/oauth/connected/accounts.example?"+url.Values{"state": {state}, "code": {"the code"}}.Encode()), http.StatusOK, "The account is connected")
	if len(f.kept) != 1 || f.kept[0].Code != "the code" || challengeOf(f.kept[0].Verifier) != challenge || f.kept[0].RedirectURL != issuer+"/oauth/connected/accounts.example" {
		t.Errorf("kept: %d answers", len(f.kept))
	}
	act := httpapi.Act{Name: "connect", Target: "drive", User: "alice", Login: oauth.KeyOf("https://idp.example", "alice").String()}
	if diff := cmp.Diff([]httpapi.Act{act}, w.audited()); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
	if strings.Contains(w.store.dump()+w.logs.String(), "the code") {
		t.Error("the code is in the store or in the log")
	}
}

func TestNobodyConnectsForSomebodyElse(t *testing.T) {
	w, f := connectWorld(t)
	// Somebody else's, a server that there is not, and nobody's are one page.
	var bodies []string
	for _, path := range []string{"bob/drive", "alice/none", "nobody/drive"} {
		got := w.browser().comesToConnect(path, "alice")
		page(t, got, http.StatusForbidden, "There is nothing to connect here")
		bodies = append(bodies, got.body)
	}
	if bodies[0] != bodies[1] || bodies[0] != bodies[2] {
		t.Error("the pages tell them apart")
	}
	mine, other := w.browser(), w.browser()
	_, asked := mine.goesOn(mine.comesToConnect("alice/drive", "alice"))
	answer := "?" + url.Values{"state": {asked.Get("state")}, "code": {"c"}}.Encode()
	other.get(v1alpha1.ConnectPath + "alice/drive") // It has a cookie of its own.
	page(t, other.get("/oauth/connected/accounts.example"+answer), http.StatusBadRequest, "This login is over")
	if len(f.kept) != 0 {
		t.Error("an answer was kept")
	}
	page(t, mine.get("/oauth/connected/accounts.example"+answer), http.StatusOK, "The account is connected")
	page(t, mine.get("/oauth/connected/accounts.example"+answer), http.StatusBadRequest, "This login is over")
}

// The authorization server of mail sends the person on to that of drive, with its
// own state.
func TestAnAnswerIsOfTheAuthorizationServerThatWasAsked(t *testing.T) {
	w, f := connectWorld(t)
	b := w.browser()
	_, asked := b.goesOn(b.comesToConnect("alice/mail", "alice"))
	if got := asked.Get("redirect_uri"); got != issuer+"/oauth/connected/evil.example_8443" {
		t.Errorf("redirect URI %s", got)
	}
	answer := "?" + url.Values{"state": {asked.Get("state")}, "code": {"of drive"}}.Encode()
	page(t, b.get("/oauth/connected/accounts.example"+answer), http.StatusBadRequest, "This login is over")
	if len(f.kept) != 0 {
		t.Error("the answer of another server's account was kept")
	}
}

func TestPlacesOfDifferentHostsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, host := range []string{"a.example", "A.example", "a.example:8443", "[::1]:80", "[::1:80]", "127.0.0.1:80"} {
		place := placeOf("https://" + host + "/authorize")
		if before, ok := seen[place]; ok && !strings.EqualFold(before, host) {
			t.Errorf("%s and %s are one place", before, host)
		}
		seen[place] = host
		if _, ok := (newServer(&core{Options: Options{Connections: &fakeConnections{}}})).Target(pathConnected + place); !ok {
			t.Errorf("%s has no path", host)
		}
	}
}

func TestStepsOfAClientAndOfAnAccountAreNotExchanged(t *testing.T) {
	w, f := connectWorld(t)
	b := w.browser()
	consent := fieldOf(t, b.comesTo(deskFor(alices), "alice"))
	page(t, b.post(pathAccount, url.Values{"login": {consent}, "answer": {"connect"}}), http.StatusBadRequest, "This login is over")
	account := fieldOf(t, b.comesToConnect("alice/drive", "alice"))
	page(t, b.post(pathConsent, url.Values{"login": {account}, "answer": {"allow"}}), http.StatusBadRequest, "This login is over")
	for _, form := range []url.Values{{"login": {account}}, {"login": {"x"}, "answer": {"connect"}}, {"answer": {"connect"}}} {
		page(t, b.post(pathAccount, form), http.StatusBadRequest, "This login is over")
	}
	if len(f.kept) != 0 {
		t.Error("an answer was kept")
	}
}

func TestAnAccountThatSaysNoChangesNothing(t *testing.T) {
	w, f := connectWorld(t)
	for name, answer := range map[string]url.Values{"an error": {"error": {"access_denied"}}, "no code": {}, "both": {"error": {"x"}, "code": {"c"}}} {
		b := w.browser()
		_, asked := b.goesOn(b.comesToConnect("alice/drive", "alice"))
		answer.Set("state", asked.Get("state"))
		page(t, b.get("/oauth/connected/accounts.example?"+answer.Encode()), http.StatusForbidden, "The account was not connected")
		if len(f.kept) != 0 {
			t.Errorf("%s: an answer was kept", name)
		}
	}
}

func TestWhoLosesTheBridgeMeanwhileConnectsNothing(t *testing.T) {
	w, f := connectWorld(t)
	b := w.browser()
	_, asked := b.goesOn(b.comesToConnect("alice/drive", "alice"))
	w.users.set("alice")
	page(t, b.get("/oauth/connected/accounts.example?"+url.Values{"state": {asked.Get("state")}, "code": {"c"}}.Encode()), http.StatusForbidden, "There is nothing to connect here")
	if len(f.kept) != 0 {
		t.Error("an answer was kept")
	}
}

func TestWhileABridgeCannotBeReachedThePersonIsTold(t *testing.T) {
	w, f := connectWorld(t)
	f.setAway(true)
	page(t, w.browser().comesToConnect("alice/drive", "alice"), http.StatusServiceUnavailable, "This does not work at the moment")
	f.setAway(false)
	b := w.browser()
	_, asked := b.goesOn(b.comesToConnect("alice/drive", "alice"))
	f.setAway(true)
	page(t, b.get("/oauth/connected/accounts.example?"+url.Values{"state": {asked.Get("state")}, "code": {"c"}}.Encode()), http.StatusServiceUnavailable, "This does not work at the moment")
}

func TestWithoutConnectionsThereAreNoSuchPages(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{v1alpha1.ConnectPath + "alice/drive", "/oauth/connected/accounts.example"} {
		if got := w.browser().get(path); got.status != http.StatusTeapot {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	with, _ := connectWorld(t)
	for _, path := range []string{v1alpha1.ConnectPath + "Alice/drive", v1alpha1.ConnectPath + "alice/../drive", v1alpha1.ConnectPath + "alice", v1alpha1.ConnectPath + "alice/drive?x=1", "/oauth/connected/"} {
		if got := with.browser().get(path); got.status != http.StatusTeapot {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestAnAccountWhoseTokensAreMadeElsewhereIsNotConnected(t *testing.T) {
	w, f := connectWorld(t)
	for _, test := range []struct {
		name, page, token string
		ok                bool
	}{
		{"another host", "https://accounts.example/authorize", "https://evil.example/token", false},
		{"a host below it", "https://accounts.example/authorize", "https://evil.accounts.example/token", false},
		{"another port", "https://accounts.example/authorize", "https://accounts.example:8443/token", false},
		{"without TLS", "https://accounts.example/authorize", "http://accounts.example/token", false},
		{"the same, written otherwise", "https://accounts.example/authorize", "https://ACCOUNTS.example:443/token", true},
		{"what an administrator allowed", "https://accounts.google.example/authorize", "https://oauth2.googleapis.example/token", true},
		{"the reverse of it", "https://oauth2.googleapis.example/authorize", "https://accounts.google.example/token", false},
		{"one half of it", "https://accounts.google.example/authorize", "https://evil.example/token", false},
		{"the other half of it", "https://evil.example/authorize", "https://oauth2.googleapis.example/token", false},
	} {
		f.setChange(func(c *flow.Connection) { c.AuthorizationURL, c.TokenURL = test.page, test.token })
		shown := w.browser().comesToConnect("alice/drive", "alice")
		if test.ok {
			page(t, shown, http.StatusOK, "<strong>"+oauth.Origin(test.token)+"</strong>")
			continue
		}
		page(t, shown, http.StatusForbidden, "The account cannot be connected")
		page(t, shown, http.StatusForbidden, "<code>"+oauth.Origin(test.token)+"</code>")
		if strings.Contains(shown.body, "<form") {
			t.Errorf("%s: the page leads on", test.name)
		}
	}
}

func TestAnAnswerIsKeptOnlyForWhatThePersonSaw(t *testing.T) {
	w, f := connectWorld(t)
	for name, change := range map[string]func(*flow.Connection){
		"tokens made elsewhere":    func(c *flow.Connection) { c.TokenURL = "https://evil.example/token" },
		"tokens sent elsewhere":    func(c *flow.Connection) { c.ServerURL = "https://evil.example/mcp" },
		"another bridge":           func(c *flow.Connection) { c.Bridge = "uid-other" },
		"another page":             func(c *flow.Connection) { c.AuthorizationURL = "https://accounts.example/other" },
		"kept in another's secret": func(c *flow.Connection) { c.Secret = "OTHER" },
	} {
		f.setChange(nil)
		b := w.browser()
		_, asked := b.goesOn(b.comesToConnect("alice/drive", "alice"))
		f.setChange(change)
		got := b.get("/oauth/connected/accounts.example?" + url.Values{"state": {asked.Get("state")}, "code": {"c"}}.Encode())
		page(t, got, http.StatusBadRequest, "This login is over")
		if len(f.kept) != 0 || len(w.audited()) != 0 {
			t.Errorf("%s: the answer was kept", name)
		}
	}
}

func TestThePageOfAnAccountSaysWhoseBridgeItIsFor(t *testing.T) {
	w, f := connectWorld(t)
	w.users.claims("mallory", "bob", "alice")
	shown := w.browser().comesToConnect("bob/drive", "alice")
	for _, words := range []string{warning + " <strong>bob</strong>", "<strong>mallory</strong>"} {
		page(t, shown, http.StatusOK, words)
	}
	f.setChange(func(c *flow.Connection) { c.ServerURL = "" })
	shown = w.browser().comesToConnect("alice/drive", "alice")
	page(t, shown, http.StatusOK, "a program of the bridge")
	if strings.Contains(shown.body, warning) {
		t.Errorf("alice is warned of her own bridge: %s", shown.body)
	}
}
