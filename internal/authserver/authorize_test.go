// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// Where it is not certain who the client is, nobody is sent anywhere.
func TestRequestsThatAPersonIsToldOf(t *testing.T) {
	for _, test := range []struct {
		name  string
		more  url.Values
		words string
	}{
		{"no client", url.Values{"client_id": nil}, "not known here"},
		{"an empty client", url.Values{"client_id": {""}}, "not known here"},
		{"two clients", url.Values{"client_id": {desk, desk}}, "not understood"},
		{"a client that nobody knows", url.Values{"client_id": {"nobody"}}, "not known here"},
		{"one that never registered", url.Values{"client_id": {registeredPrefix + strings.Repeat("A", 43)}}, "not known here"},
		{"a document that cannot be read", url.Values{"client_id": {"https://none.example/c.json"}}, "cannot be looked up"},
		{"a document of another client", url.Values{"client_id": {"https://site.example/other.json"}, "redirect_uri": {siteURI}}, "cannot be looked up"},
		{"no redirect URI", url.Values{"redirect_uri": nil}, "answered where it may not be"},
		{"two redirect URIs", url.Values{"redirect_uri": {deskURI, "https://evil.example/"}}, "not understood"},
		{"a redirect to another host", url.Values{"redirect_uri": {"https://evil.example/callback"}}, "answered where it may not be"},
		{"a redirect to another path", url.Values{"redirect_uri": {"http://127.0.0.1:49152/callback/x"}}, "answered where it may not be"},
		{"a redirect to a path of dots", url.Values{"redirect_uri": {"http://127.0.0.1:49152/callback/../x"}}, "answered where it may not be"},
		{"a redirect with a query", url.Values{"redirect_uri": {deskURI + "?to=https://evil.example"}}, "answered where it may not be"},
		{"a redirect with a user", url.Values{"redirect_uri": {"http://127.0.0.1:49152@evil.example/callback"}}, "answered where it may not be"},
		{"a redirect to a host that begins so", url.Values{"redirect_uri": {"http://127.0.0.1.evil.example/callback"}}, "answered where it may not be"},
		{"a redirect with a fragment", url.Values{"redirect_uri": {deskURI + "#x"}}, "answered where it may not be"},
		{"a redirect that runs", url.Values{"redirect_uri": {"javascript:alert(1)"}}, "answered where it may not be"},
		{"a redirect of another client", url.Values{"redirect_uri": {siteURI}}, "answered where it may not be"},
		{"a redirect to the same port by another scheme", url.Values{"redirect_uri": {"https://127.0.0.1:49152/callback"}}, "answered where it may not be"},
		{"a redirect of a document that others read", url.Values{"client_id": {siteID}, "redirect_uri": {"http://evil.example/"}}, "answered where it may not be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			c.more = test.more
			a := w.browser().get(c.authorize())
			page(t, a, http.StatusBadRequest, test.words)
			if len(linksOf(a)) > 0 || strings.Contains(a.body, "evil.example") || len(w.store.entries) > 0 {
				t.Errorf("the page leads on, or something is stored: %s", a.body)
			}
		})
	}
}

// The client hears of what it got wrong, with its state and whose answer it is.
func TestRequestsThatTheClientIsToldOf(t *testing.T) {
	for _, test := range []struct {
		name string
		more url.Values
		code string
	}{
		{"no type", url.Values{"response_type": nil}, codeInvalidRequest},
		{"a token at once", url.Values{"response_type": {"token"}}, codeUnsupportedType},
		{"two types", url.Values{"response_type": {"code", "token"}}, codeInvalidRequest},
		{"an answer in the fragment", url.Values{"response_mode": {"fragment"}}, codeInvalidRequest},
		{"a request object", url.Values{"request": {"e30."}}, codeNoRequestObject},
		{"one elsewhere", url.Values{"request_uri": {"https://evil.example/"}}, codeNoRequestURI},
		{"no PKCE", url.Values{"code_challenge": nil, "code_challenge_method": nil}, codeInvalidRequest},
		{"plain PKCE", url.Values{"code_challenge_method": {"plain"}}, codeInvalidRequest},
		{"PKCE that is plain where nothing is said", url.Values{"code_challenge_method": nil}, codeInvalidRequest},
		{"a challenge that is no hash", url.Values{"code_challenge": {"abc"}}, codeInvalidRequest},
		{"two challenges", url.Values{"code_challenge": {challengeOf("a"), challengeOf("b")}}, codeInvalidRequest},
		{"scopes that there are not", url.Values{"scope": {"admin openid"}}, codeInvalidScope},
		{"two lists of scopes", url.Values{"scope": {"mcp:read", "mcp:call"}}, codeInvalidRequest},
		{"a resource elsewhere", url.Values{"resource": {"https://elsewhere.example/mcp"}}, codeInvalidTarget},
		{"a resource that begins as ours", url.Values{"resource": {issuer + ".evil.example/mcp"}}, codeInvalidTarget},
		{"all of the installation", url.Values{"resource": {issuer}}, codeInvalidTarget},
		{"a resource with a slash more", url.Values{"resource": {alices + "/"}}, codeInvalidTarget},
		{"a resource with a query", url.Values{"resource": {alices + "?x"}}, codeInvalidTarget},
		{"a resource in capitals", url.Values{"resource": {issuer + "/u/Alice/mcp"}}, codeInvalidTarget},
		{"two resources", url.Values{"resource": {alices, everyone}}, codeInvalidTarget},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			c.more = test.more
			to := w.browser().get(c.authorize()).location(t)
			q := to.Query()
			if to.Host != "127.0.0.1:49152" || q.Get("error") != test.code || q.Get("error_description") == "" || q.Get("state") != "a state/of=its own" || q.Get("iss") != issuer || q.Has("code") {
				t.Errorf("the client is told %s, want %s", to, test.code)
			}
			if len(w.store.entries) > 0 {
				t.Error("something is stored")
			}
		})
	}
}

func TestAClientWhoseStateIsThereTwiceHearsNone(t *testing.T) {
	c := deskFor(alices)
	c.more = url.Values{"state": {"a", "b"}}
	if q := newWorld(t).browser().get(c.authorize()).location(t).Query(); q.Get("error") != codeInvalidRequest || q.Has("state") {
		t.Errorf("the client is told %v", q)
	}
}

// Anybody can register a client at a site of theirs, and send people here with a
// request that is refused at once.
func TestLinksToThisInstallationDoNotLeadToAnySite(t *testing.T) {
	w := newWorld(t)
	registered := w.register(t, `{"redirect_uris":["https://evil.example/cb","http://127.0.0.1/cb"]}`)
	for _, c := range []testClient{{id: registered, redirect: "https://evil.example/cb"}, {id: siteID, redirect: siteURI}} {
		c.more = url.Values{"scope": {"admin"}}
		a := w.browser().get(c.authorize())
		page(t, a, http.StatusBadRequest, "<code>invalid_scope</code>")
		if links := linksOf(a); len(links) != 1 || !strings.HasPrefix(links[0], c.redirect+"?error=invalid_scope") {
			t.Errorf("links %q", links)
		}
	}
	c := testClient{id: registered, redirect: "http://127.0.0.1:1/cb", more: url.Values{"scope": {"admin"}}}
	if to := w.browser().get(c.authorize()).location(t); to.Host != "127.0.0.1:1" {
		t.Errorf("a program on the person's computer is told at %s", to)
	}
}

func TestRequestsThatAreGood(t *testing.T) {
	for _, test := range []struct {
		name            string
		more            url.Values
		scope, resource string
	}{
		{"with all that there is", url.Values{"scope": {"mcp:call mcp:read"}, "response_mode": {"query"}}, "mcp:read mcp:call", alices},
		{"with the scope to change the bridge", url.Values{"scope": {"bridge:manage mcp:read"}}, "mcp:read bridge:manage", alices},
		{"without a scope", nil, "mcp:read mcp:call", alices},
		{"with one scope", url.Values{"scope": {"mcp:read"}}, "mcp:read", alices},
		{"with a scope of going on without the person", url.Values{"scope": {"mcp:read offline_access"}}, "mcp:read", alices},
		{"with a scope of another issuer", url.Values{"scope": {"bridges.read mcp:read"}}, "mcp:read", alices},
		{"with that one alone", url.Values{"scope": {"offline_access"}}, "mcp:read mcp:call", alices},
		{"without a resource", url.Values{"resource": nil}, "mcp:read mcp:call", everyone},
		{"with the same resource twice", url.Values{"resource": {alices, alices}}, "mcp:read mcp:call", alices},
		{"for the older transport", url.Values{"resource": {issuer + "/u/alice/sse"}}, "mcp:read mcp:call", issuer + "/u/alice/sse"},
		{"without a state", url.Values{"state": nil}, "mcp:read mcp:call", alices},
		{"with parameters that nobody knows", url.Values{"prompt": {"consent"}, "x": {"1", "2"}}, "mcp:read mcp:call", alices},
		{"with another port", url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}}, "mcp:read mcp:call", alices},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			c.more = test.more
			form := c.redeems(w.browser().agrees(c, "alice"))
			form.Set("resource", test.resource)
			if uri := test.more.Get("redirect_uri"); uri != "" {
				form.Set("redirect_uri", uri)
			}
			a := w.program(pathToken, form)
			if a.json("scope") != test.scope {
				t.Fatalf("scope %q: status %d, %s", a.json("scope"), a.status, a.json("error_description"))
			}
			token, err := w.verify(a.json("access_token"), test.resource)
			if err != nil || token.Manages() != strings.Contains(test.scope, "bridge:manage") {
				t.Errorf("%+v, %v", token, err)
			}
		})
	}
}

// TestThePersonIsAskedBeforeAClientMayChangeTheirBridge reads the page, and has a client
// refresh that has the scope and one that has not.
func TestThePersonIsAskedBeforeAClientMayChangeTheirBridge(t *testing.T) {
	const says = "make and revoke API keys"
	w := newWorld(t)
	c := deskFor(alices)
	if asked := w.browser().comesTo(c, "alice"); strings.Contains(asked.body, says) {
		t.Error("the page names a scope that was not asked for")
	}
	_, refresh := w.logIn(c, "alice")
	form := c.refreshes(refresh)
	form.Set("scope", "mcp:read bridge:manage")
	refused(t, w.program(pathToken, form), http.StatusBadRequest, codeInvalidScope)
	c.more = url.Values{"scope": {"mcp:read bridge:manage"}}
	if asked := w.browser().comesTo(c, "alice"); !strings.Contains(asked.body, says) {
		t.Errorf("the page does not name the scope: %s", asked.body)
	}
	_, refresh = w.logIn(c, "alice")
	access, _ := w.mustRedeem(c.refreshes(refresh))
	if token, err := w.verify(access, alices); err != nil || !token.Manages() || token.Call {
		t.Errorf("after a refresh the token is %+v, %v", token, err)
	}
}

func TestClientsOfAllKinds(t *testing.T) {
	w := newWorld(t)
	registered := w.register(t, `{"redirect_uris":["https://reg.example/cb?keep=a%20b"]}`)
	for name, c := range map[string]testClient{
		"a configured app":      {id: desk, redirect: "cursor://desk/callback"},
		"a document":            {id: siteID, redirect: siteURI},
		"a document on a port":  {id: siteID, redirect: "http://127.0.0.1:5000/callback"},
		"one that registered":   {id: registered, redirect: "https://reg.example/cb?keep=a%20b"},
		"a program at its port": {id: desk, redirect: "http://127.0.0.1/callback"},
	} {
		t.Run(name, func(t *testing.T) {
			c.resource, c.verifier = alices, strings.Repeat("x", 128)
			b := w.browser()
			to := b.answers(b.comesTo(c, "alice"), "allow").header.Get("Location")
			if rest, ok := strings.CutPrefix(to, c.redirect); !ok || !strings.HasPrefix(rest, "?code=") && !strings.HasPrefix(rest, "&code=") {
				t.Fatalf("the client is answered at %s", to)
			}
			u := must.Value(url.Parse(to))(t)
			access, _ := w.mustRedeem(c.redeems(u.Query().Get("code")))
			if token, err := w.verify(access, alices); err != nil || token.ClientID != c.id {
				t.Errorf("the token is of client %q (%v)", token.ClientID, err)
			}
		})
	}
}

// FuzzAuthorize looks for a request by which somebody is sent to where nobody has
// agreed to send them.
func FuzzAuthorize(f *testing.F) {
	good := strings.TrimPrefix(deskFor(alices).authorize(), pathAuthorize+"?")
	f.Add(good)
	f.Add(strings.Replace(good, "127.0.0.1%3A49152", "127.0.0.1%3A49152%40evil.example", 1))
	f.Add("client_id=desk&redirect_uri=" + url.QueryEscape(`http://127.0.0.1:1\@evil.example/callback`))
	f.Add("client_id=desk&redirect_uri=cursor%3A%2F%2Fdesk%2Fcallback%00")
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, query string) {
		w.t = t
		a := w.send(http.MethodGet, pathAuthorize+"?"+query, "", nil)
		to := a.header.Get("Location")
		switch {
		case a.status == http.StatusTeapot, a.status == http.StatusBadRequest && to == "":
		case a.status != http.StatusSeeOther:
			t.Errorf("status %d", a.status)
		case strings.HasPrefix(to, "https://idp.example/authorize?"), strings.HasPrefix(to, "cursor://desk/callback?error="):
		default:
			u, err := url.Parse(to)
			if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Path != "/callback" || !u.Query().Has("error") {
				t.Errorf("the browser is sent to %q", to)
			}
		}
	})
}

// busyDocuments are those of an installation that is busy with others.
type busyDocuments struct{}

func (busyDocuments) Client(context.Context, string) (flow.Client, error) {
	return flow.Client{}, errFake
}

func TestAClientWhoseDocumentIsNotReadNowMayTryAgain(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Documents = busyDocuments{} })
	c := testClient{id: siteID, redirect: siteURI, resource: alices, verifier: strings.Repeat("v", 43)}
	page(t, w.browser().get(c.authorize()), http.StatusServiceUnavailable, "Try again in a minute")
}
