// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// hub is a GitHub that says what a test has it say.
type hub struct {
	*httptest.Server
	account string
	status  int
	token   string // "": as it should be
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{account: `{"id": 583231, "login": "Octocat", "name": "The Octocat"}`, status: http.StatusOK}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case h.token != "":
			fmt.Fprint(w, h.token)
		case r.FormValue("client_id") != clientID || r.FormValue("client_secret") != secret:
			fmt.Fprint(w, `{"error":"incorrect_client_credentials","error_description":"`+r.FormValue("client_secret")+`"}`)
		case r.FormValue("code") != code || r.FormValue("code_verifier") != verifier || r.FormValue("redirect_uri") != callback:
			// GitHub's refusals have the status 200.
			fmt.Fprint(w, `{"error":"bad_verification_code","error_description":"`+r.FormValue("code")+`"}`)
		default:
			fmt.Fprint(w, `{"access_token":"`+accessToken+`","token_type":"bearer","scope":""}`)
		}
	})
	mux.HandleFunc("GET /api/v3/user", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accessToken || r.Header.Get("X-GitHub-Api-Version") == "" {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		w.WriteHeader(h.status)
		fmt.Fprint(w, h.account)
	})
	h.Server = httptest.NewTLSServer(mux)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) connect(t *testing.T, rule oauth.UserRule) flow.Provider {
	t.Helper()
	p, err := GitHub(Config{ID: "github", URL: h.URL + "/", ClientID: clientID, Secret: given(secret), User: rule, Client: h.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestALoginBeginsAtGitHub(t *testing.T) {
	p := must.Value(GitHub(Config{ID: "github", ClientID: clientID}))(t)
	where, got := begun(t, p)
	want := map[string][]string{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {callback}, "state": {"state"},
		"code_challenge": {challenge()}, "code_challenge_method": {"S256"},
	}
	if diff := cmp.Diff(want, map[string][]string(got)); diff != "" || where != "https://github.com/login/oauth/authorize" {
		t.Errorf("%s: (-want +got)\n%s", where, diff)
	}
}

func TestWhereGitHubIs(t *testing.T) {
	for name, test := range map[string]struct {
		url, api            string
		wantIssuer, wantAPI string
	}{
		"everybody's":                 {"", "", "https://github.com", "https://api.github.com"},
		"everybody's by name":         {"https://github.com/", "", "https://github.com", "https://api.github.com"},
		"an Enterprise Server":        {"https://git.example.com", "", "https://git.example.com", "https://git.example.com/api/v3"},
		"an API that is elsewhere":    {"https://x.ghe.com", "https://api.x.ghe.com/", "https://x.ghe.com", "https://api.x.ghe.com"},
		"one that anybody hears":      {"http://git.example.com", "", "", ""},
		"an API that anybody hears":   {"", "http://api.github.com", "", ""},
		"one on this machine, though": {"http://localhost:1", "", "http://localhost:1", "http://localhost:1/api/v3"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := GitHub(Config{ID: "github", ClientID: clientID, URL: test.url, APIURL: test.api})
			if err != nil {
				if test.wantIssuer != "" {
					t.Error(err)
				}
				return
			}
			if h := p.(*gitHub); h.issuer != test.wantIssuer || h.api != test.wantAPI {
				t.Errorf("%s, %s", h.issuer, h.api)
			}
		})
	}
}

func TestAPersonIsTheAccountsNumber(t *testing.T) {
	for name, test := range map[string]struct {
		account string
		rule    oauth.UserRule
		iss     func(url string) string
		want    flow.Identity
	}{
		"with the name of the person": {`{"id": 583231, "login": "Octocat", "name": "The Octocat"}`, oauth.UserRule{}, nil,
			flow.Identity{Subject: "583231", Name: "The Octocat"}},
		"with the name of the account": {`{"id": 9007199254740993, "login": "Octocat", "name": null}`, oauth.UserRule{}, nil,
			flow.Identity{Subject: "9007199254740993", Name: "Octocat"}},
		"with a user by the rule": {`{"id": 583231, "login": "Octocat"}`, oauth.UserRule{Claim: "login"}, nil,
			flow.Identity{Subject: "583231", Name: "Octocat", User: "octocat"}},
		"of the issuer that it says": {`{"id": 1, "login": "a"}`, oauth.UserRule{}, func(url string) string { return url },
			flow.Identity{Subject: "1", Name: "a"}},
		"of the issuer in its metadata": {`{"id": 1, "login": "a"}`, oauth.UserRule{}, func(url string) string { return url + "/login/oauth" },
			flow.Identity{Subject: "1", Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, a := newHub(t), answer
			h.account = test.account
			if test.iss != nil {
				a.Iss = test.iss(h.URL)
			}
			got, err := h.connect(t, test.rule).Finish(t.Context(), a)
			test.want.Issuer = h.URL
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestWhatIsNoLoginAtGitHub(t *testing.T) {
	for name, test := range map[string]struct {
		change func(h *hub, a *flow.LoginAnswer)
		away   bool
	}{
		"a code that is unknown":      {change: func(_ *hub, a *flow.LoginAnswer) { a.Code = "geheim-other" }},
		"a code that is another's":    {change: func(_ *hub, a *flow.LoginAnswer) { a.Verifier = "geheim-other" }},
		"an answer of another issuer": {change: func(_ *hub, a *flow.LoginAnswer) { a.Iss = "https://login.example.com" }},
		"an account without a number": {change: func(h *hub, _ *flow.LoginAnswer) { h.account = `{"login": "octocat"}` }},
		"a number that is text":       {change: func(h *hub, _ *flow.LoginAnswer) { h.account = `{"id": "1", "login": "octocat"}` }},
		"a number that is none":       {change: func(h *hub, _ *flow.LoginAnswer) { h.account = `{"id": 0, "login": "octocat"}` }},
		"a number with a fraction":    {change: func(h *hub, _ *flow.LoginAnswer) { h.account = `{"id": 1.5, "login": "octocat"}` }},
		"a number of another form":    {change: func(h *hub, _ *flow.LoginAnswer) { h.account = `{"id": 1e3, "login": "octocat"}` }},
		"an answer that is no JSON":   {change: func(h *hub, _ *flow.LoginAnswer) { h.account = accessToken }},
		"an account that is too long": {change: func(h *hub, _ *flow.LoginAnswer) {
			h.account = `{"id": 1, "name": "` + strings.Repeat("a", maxBody) + `"}`
		}},
		"an API that is away": {away: true, change: func(h *hub, _ *flow.LoginAnswer) { h.status, h.account = http.StatusServiceUnavailable, accessToken }},
		"a token of no words": {away: true, change: func(h *hub, _ *flow.LoginAnswer) { h.token = `{"access_token":""}` }},
	} {
		t.Run(name, func(t *testing.T) {
			h, a := newHub(t), answer
			test.change(h, &a)
			who, err := h.connect(t, oauth.UserRule{}).Finish(t.Context(), a)
			if err == nil || !cmp.Equal(who, flow.Identity{}) || !strings.HasPrefix(err.Error(), "login at github: ") {
				t.Errorf("%+v, %v", who, err)
			}
			if errors.Is(err, flow.ErrLogin) == test.away {
				t.Errorf("whose fault it is was not said: %v", err)
			}
			expectDiscreet(t, err)
		})
	}
}

func TestASecretThatGitHubDoesNotKnowIsOurFault(t *testing.T) {
	h := newHub(t)
	p, err := GitHub(Config{ID: "github", URL: h.URL, ClientID: clientID, Secret: given("geheim-before"), Client: h.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Finish(t.Context(), answer)
	if err == nil || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), "incorrect_client_credentials") {
		t.Error(err)
	}
	expectDiscreet(t, err)
}
