// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func (w *world) verify(token, resource string) (oauth.Token, error) {
	w.t.Helper()
	v, err := oauth.NewVerifier([]oauth.Issuer{{URL: issuer, Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true}}, keySource{w.keys})
	if err != nil {
		w.t.Fatal(err)
	}
	return v.Verify(w.t.Context(), token, resource, w.now())
}

func TestALoginFromItsFirstRequestToItsTokens(t *testing.T) {
	w := newWorld(t)
	w.provider.user["alice"] = "alice"
	c := deskFor(alices)
	b := w.browser()
	begun := b.get(c.authorize())
	if to := begun.location(t); to.Host != "idp.example" || to.Query().Get("redirect_uri") != issuer+"/oauth/callback/idp" {
		t.Errorf("the browser is sent to %s", to)
	}
	cookie := begun.header.Get("Set-Cookie")
	for _, attribute := range []string{"__Host-hb-login=", "; Path=/", "; Max-Age=900", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		if !strings.Contains(cookie, attribute) {
			t.Errorf("cookie %q has no %q", cookie, attribute)
		}
	}
	asked := b.get(back(t, begun, "alice"))
	for _, word := range []string{"<strong>Name of alice</strong>", "The idp", "<strong>Desk</strong>", "127.0.0.1:49152", "<strong>alice</strong>", "Call tools", "on the computer"} {
		if !strings.Contains(asked.body, word) {
			t.Errorf("the page of consent has no %q: %s", word, asked.body)
		}
	}
	got := b.answers(asked, "allow").location(t)
	q := got.Query()
	if got.Host != "127.0.0.1:49152" || q.Get("state") != "a state/of=its own" || q.Get("iss") != issuer || len(q) != 3 {
		t.Errorf("the client is answered at %s", got)
	}
	answer := w.program(pathToken, c.redeems(q.Get("code")))
	if answer.status != http.StatusOK || answer.json("token_type") != "Bearer" || answer.json("scope") != "mcp:read mcp:call" || !strings.Contains(answer.body, `"expires_in":900,`) || answer.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v", answer.status, answer.header)
	}
	token := must.Value(w.verify(answer.json("access_token"), alices))(t)
	token.ID = ""
	want := oauth.Token{
		Issuer: issuer, Subject: oauth.KeyOf("https://idp.example", "alice"), User: "alice", Own: true, ClientID: desk, Issued: w.now(),
		Expires: w.now().Add(15 * time.Minute), Read: true, Call: true, Scopes: oauth.Scopes(),
	}
	if diff := cmp.Diff(want, token); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	if _, err := w.verify(answer.json("access_token"), everyone); err == nil {
		t.Error("the token is good at another URL")
	}
	if diff := cmp.Diff([]httpapi.Act{{Name: "allow", Target: desk, Login: want.Subject.String(), User: "alice"}}, w.audited()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
}

func TestNothingThatOpensAnythingIsStoredOrLogged(t *testing.T) {
	w := newWorld(t)
	c, b := deskFor(alices), w.browser()
	begun := b.get(c.authorize())
	state := begun.location(t).Query().Get("state")
	stored := w.store.dump()
	asked := b.get(back(t, begun, "alice"))
	login := fieldOf(t, asked)
	stored += w.store.dump()
	code := b.answers(asked, "allow").location(t).Query().Get("code")
	stored += w.store.dump()
	access, refresh := w.mustRedeem(c.redeems(code))
	w.program(pathToken, c.redeems(code))
	w.program(pathToken, c.refreshes(refresh))
	w.keys.setAway(true)
	w.get(pathKeys)
	stored += w.store.dump() + w.logs.String()
	for what, secret := range map[string]string{
		"the browser's cookie": b.cookies["__Host-hb-login"], "the provider's state": state, "the consent's secret": login, "the code": code, "its grant": code[4:47],
		"its proof": code[47:], "the access token": access, "the refresh token": refresh, "its proof ": refresh[47:], "the person's name": "Name of alice",
	} {
		if secret == "" || strings.Contains(stored, secret) {
			t.Errorf("%s is in the store, or in the logs", what)
		}
	}
	if code[4:47] != refresh[4:47] {
		t.Error("the test does not know how credentials are made")
	}
}

func (w *world) get(path string) answer { return w.send(http.MethodGet, path, "", nil) }

func TestTheServerSaysWhatItIs(t *testing.T) {
	w := newWorld(t)
	a := w.get(pathMetadata)
	var got, want map[string]any
	must.Succeed(t, json.Unmarshal([]byte(a.body), &got))
	must.Succeed(t, json.Unmarshal([]byte(`{
		"issuer": "https://bridges.example.com",
		"authorization_endpoint": "https://bridges.example.com/oauth/authorize",
		"token_endpoint": "https://bridges.example.com/oauth/token",
		"jwks_uri": "https://bridges.example.com/oauth/jwks",
		"registration_endpoint": "https://bridges.example.com/oauth/register",
		"revocation_endpoint": "https://bridges.example.com/oauth/revoke",
		"revocation_endpoint_auth_methods_supported": ["none"],
		"scopes_supported": ["mcp:read", "mcp:call"],
		"response_types_supported": ["code"],
		"response_modes_supported": ["query"],
		"grant_types_supported": ["authorization_code", "refresh_token"],
		"token_endpoint_auth_methods_supported": ["none"],
		"code_challenge_methods_supported": ["S256"],
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported": true}`), &want))
	if diff := cmp.Diff(want, got); diff != "" || a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%v (-want +got):\n%s", a.header, diff)
	}
	closed := newWorld(t, func(o *Options) { o.Registration.Enabled, o.Documents = false, nil })
	if a := closed.get(pathMetadata); strings.Contains(a.body, "registration_endpoint") || !strings.Contains(a.body, `"client_id_metadata_document_supported":false`) {
		t.Errorf("without registration: %s", a.body)
	}
	if a := closed.send(http.MethodPost, pathRegister, "{}", http.Header{"Content-Type": {"application/json"}}); a.status != http.StatusTeapot {
		t.Errorf("without registration somebody registers: %d", a.status)
	}
}

func TestKeysArePublicAndOnlyTheirPublicHalves(t *testing.T) {
	w := newWorld(t)
	a := w.get(pathKeys)
	var set jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(a.body), &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() {
		t.Errorf("status %d, %v: %s", a.status, err, a.body)
	}
	w.keys.setAway(true)
	if a := w.get(pathKeys); a.status != http.StatusServiceUnavailable || a.json("code") != "keys_unavailable" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestOneBrowserHasSeveralLogins(t *testing.T) {
	w := newWorld(t)
	b, first, second := w.browser(), deskFor(alices), deskFor(everyone)
	one, two := b.get(first.authorize()), b.get(second.authorize())
	for _, begun := range []answer{one, two} {
		page := b.get(back(t, begun, "alice"))
		if b.answers(page, "allow").location(t).Query().Get("code") == "" {
			t.Error("one of two logins ends the other")
		}
	}
}

func TestSeveralProvidersAreChosenFrom(t *testing.T) {
	other := newProvider("other")
	w := newWorld(t, providers(other))
	b := w.browser()
	chosen := b.get(deskFor(alices).authorize())
	page(t, chosen, http.StatusOK, "Log in with The other")
	if !strings.Contains(chosen.body, "<strong>Desk</strong>") {
		t.Errorf("the page does not say for whom: %s", chosen.body)
	}
	links := linksOf(chosen)
	if len(links) != 2 || !strings.HasPrefix(links[1], "/oauth/login/other?login=") {
		t.Fatalf("links %q", links)
	}
	if to := b.get(links[0]).location(t); to.Host != "idp.example" {
		t.Errorf("the first leads to %s", to)
	}
	// They come back and choose the other.
	q := b.answers(b.get(back(t, b.get(links[1]), "alice")), "allow").location(t).Query()
	access, _ := w.mustRedeem(deskFor(alices).redeems(q.Get("code")))
	if token, err := w.verify(access, alices); err != nil || token.Subject != oauth.KeyOf("https://other.example", "alice") {
		t.Errorf("token of %v, %v", token.Subject, err)
	}
	page(t, w.browser().get(links[1]), http.StatusBadRequest, "This login is over")
	page(t, b.get("/oauth/login/other?login=x"), http.StatusBadRequest, "This login is over")
	page(t, b.get("/oauth/login/third?login=x"), http.StatusNotFound, "no such page")
}

func TestWhoHasNoBridgeGetsOneWhereTheInstallationGivesThem(t *testing.T) {
	w := newWorld(t)
	w.users.welcome["nora"] = "u-nora"
	for _, answer := range []string{"deny", "allow"} {
		b := w.browser()
		got := b.comesTo(deskFor(everyone), "nora")
		if !strings.Contains(got.body, "<strong>u-nora</strong>, which is made for you") || len(w.users.bridges["nora"]) > 0 {
			t.Errorf("the page does not offer the bridge, or there are %v: %s", w.users.bridges["nora"], got.body)
		}
		b.answers(got, answer)
		if made := len(w.users.bridges["nora"]); (made == 1) != (answer == "allow") {
			t.Errorf("%d bridges after %s", made, answer)
		}
	}
	if got := w.browser().comesTo(deskFor(everyone), "nora"); strings.Contains(got.body, "is made for you") {
		t.Error("the bridge that there is, is offered again")
	}
	t.Run("or not, if they lost it while they read", func(t *testing.T) {
		w.users.welcome["nils"] = "u-nils"
		b := w.browser()
		offer := b.comesTo(deskFor(everyone), "nils")
		delete(w.users.welcome, "nils")
		page(t, b.answers(offer, "allow"), http.StatusForbidden, "You have no bridge here")
	})
	t.Run("at the second press, if the first one failed", func(t *testing.T) {
		w.users.welcome["nina"] = "u-nina"
		b := w.browser()
		offer := b.comesTo(deskFor(everyone), "nina")
		w.users.away = true
		page(t, b.answers(offer, "allow"), http.StatusServiceUnavailable, "at the moment")
		w.users.away = false
		if code := b.answers(offer, "allow").location(t).Query().Get("code"); code == "" || len(w.users.bridges["nina"]) != 1 {
			t.Errorf("they have %v, and the client a code: %t", w.users.bridges["nina"], code != "")
		}
	})
	t.Run("but none in place of one that they got while they read", func(t *testing.T) {
		w.users.welcome["nele"] = "u-nele"
		b := w.browser()
		offer := b.comesTo(deskFor(everyone), "nele")
		w.users.set("nele", "team")
		page(t, b.answers(offer, "allow"), http.StatusBadRequest, "This login is over")
		if got := w.users.bridges["nele"]; !slices.Equal(got, []v1alpha1.UserID{"team"}) {
			t.Errorf("they have %v", got)
		}
	})
	w.users.welcome["nick"] = "u-nick"
	page(t, w.browser().comesTo(deskFor(alices), "nick"), http.StatusForbidden, "You may not use this bridge")
	if len(w.users.bridges["nick"]) > 0 {
		t.Error("who asks for another's bridge gets one")
	}
	turnedAway := w.browser().comesTo(deskFor(everyone), "otto")
	for _, words := range []string{"You have no bridge here", "https://idp.example", "otto"} {
		page(t, turnedAway, http.StatusForbidden, words)
	}
}

func TestWhoMayUseSeveralBridgesChoosesOne(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	got := b.comesTo(deskFor(everyone), "amy")
	if diff := cmp.Diff([]string{"uid-alice-0", "uid-team-0"}, bridgesOf(got)); diff != "" || strings.Contains(got.body, "checked") {
		t.Errorf("(-want +got):\n%s%s", diff, got.body)
	}
	page(t, b.chooses(got, "allow", ""), http.StatusBadRequest, "This login is over")
	page(t, b.chooses(got, "allow", "uid-bob-0"), http.StatusBadRequest, "This login is over")
	code := b.chooses(got, "allow", "uid-team-0").location(t).Query().Get("code")
	access, _ := w.mustRedeem(deskFor(everyone).redeems(code))
	if claim := claimOf(t, access, "hb_bridge"); claim != "uid-team-0" {
		t.Errorf("the token is for %q", claim)
	}
	got = w.browser().comesTo(deskFor(alices), "amy")
	if fieldOf(t, got); !strings.Contains(got.body, "<dt>Bridge</dt>\n<dd><strong>alice</strong> in the namespace <strong>people</strong></dd>") {
		t.Errorf("the page: %s", got.body)
	}
}

func TestNothingIsStoredForALoginThatAStrangerBegan(t *testing.T) {
	w := newWorld(t, providers(newProvider("other")))
	b := w.browser()
	b.get(deskFor(alices).authorize())
	before := w.store.dump()
	for range 100 {
		stranger := w.browser()
		chosen := stranger.get(linksOf(stranger.get(deskFor(alices).authorize()))[0])
		to := back(t, chosen, "nobody")
		page(t, w.browser().get(to), http.StatusBadRequest, "This login is over")
		refused := strings.Replace(to, "code=", "code=not-", 1)
		page(t, stranger.get(refused), http.StatusForbidden, "You could not be logged in")
	}
	if diff := cmp.Diff(before, w.store.dump()); diff != "" {
		t.Errorf("stored (-before +after):\n%s", diff)
	}
}

func TestALoginIsSealedInItsBrowser(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	to := back(t, b.get(deskFor(alices).authorize()), "alice")
	name, sealed := b.sealed(t)
	other := w.browser()
	other.get(deskFor(alices).authorize())
	_, others := other.sealed(t)
	for what, change := range map[string]func(cookies map[string]string){
		"is changed":          func(c map[string]string) { c[name] = withOtherCharacter(sealed, len(sealed)-8) },
		"is cut off":          func(c map[string]string) { c[name] = sealed[:40] },
		"is gone":             func(c map[string]string) { delete(c, name) },
		"is another's":        func(c map[string]string) { c[name] = others },
		"is not of a key":     func(c map[string]string) { c[name] = "e30" + sealed[strings.Index(sealed, "."):] },
		"has another browser": func(c map[string]string) { c["__Host-hb-login"] = strings.Repeat("x", 43) },
	} {
		other.cookies = maps.Clone(b.cookies)
		change(other.cookies)
		if got := other.get(to); got.status != http.StatusBadRequest || !strings.Contains(got.body, "This login is over") {
			t.Errorf("a login whose cookie %s: status %d", what, got.status)
		}
	}
	w.wait(loginLife - time.Second)
	fieldOf(t, b.get(to))
	page(t, b.get(to), http.StatusBadRequest, "This login is over")
}

// withOtherCharacter returns the text with another letter of base64 at that place.
func withOtherCharacter(text string, at int) string {
	other := "A"
	if text[at] == 'A' {
		other = "B"
	}
	return text[:at] + other + text[at+1:]
}

// sealed returns the cookie of the only login that a browser has.
func (b *browser) sealed(t *testing.T) (name, value string) {
	t.Helper()
	for name, value = range b.cookies {
		if strings.HasPrefix(name, "__Host-hb-login-") {
			return name, value
		}
	}
	t.Fatalf("cookies %v", slices.Collect(maps.Keys(b.cookies)))
	return "", ""
}

func TestTheCookiesOfLoginsStayShort(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	random := make([]byte, 3*maxState/4)
	_, _ = rand.Read(random)
	c := deskFor(alices)
	c.more = url.Values{"state": {base64.RawURLEncoding.EncodeToString(random)}}
	var last string
	for range 20 {
		last = back(t, b.get(c.authorize()), "alice")
	}
	if n := len(b.header().Get("Cookie")); n > 16<<10 {
		t.Errorf("%d bytes of cookies", n)
	}
	fieldOf(t, b.get(last))
}

func TestWhatAClientSendsStaysShort(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	for name, state := range map[string]string{"too long": strings.Repeat("s", maxState+1), "no text": "\x00", "no ASCII": "ü"} {
		c.more = url.Values{"state": {state}}
		if got := w.browser().get(c.authorize()).location(t).Query(); got.Get("error") != codeInvalidRequest || got.Has("state") {
			t.Errorf("a state that is %s: %v", name, got)
		}
	}
}

// Whether a bridge is somebody else's or nobody's, a person sees the same after
// the same questions.
func TestStrangersLearnNothingOfUsers(t *testing.T) {
	pages := map[string]string{}
	asked := map[string]int{}
	for name, resource := range map[string]string{"somebody's": alices, "nobody's": issuer + "/u/nobody/mcp"} {
		w := newWorld(t)
		w.users.set("bob", "bob")
		c := deskFor(resource)
		a := w.browser().comesTo(c, "bob")
		page(t, a, http.StatusForbidden, "You may not use this bridge")
		pages[name], asked[name] = a.body, w.users.asked
	}
	if pages["somebody's"] != pages["nobody's"] || asked["somebody's"] != asked["nobody's"] {
		t.Errorf("the pages differ, or what was asked for them: %v, %q", asked, pages)
	}
}

func TestTheRefusedPersonCanTellTheirProgram(t *testing.T) {
	w := newWorld(t)
	w.users.set("bob", "bob")
	c := deskFor(alices)
	c.redirect = "cursor://desk/callback"
	links := linksOf(w.browser().comesTo(c, "bob"))
	if len(links) != 1 {
		t.Fatalf("links %q", links)
	}
	u, err := url.Parse(links[0])
	if err != nil || u.Scheme != "cursor" || u.Query().Get("error") != "access_denied" || u.Query().Get("state") != "a state/of=its own" || u.Query().Get("iss") != issuer {
		t.Errorf("the link is %s (%v)", links[0], err)
	}
}

func TestBridgesOfAPersonAreThoseOfTheProvidersWord(t *testing.T) {
	w := newWorld(t)
	w.users.set("alice", []v1alpha1.UserID{}...)
	page(t, w.browser().comesTo(deskFor(alices), "alice"), http.StatusForbidden, "You may not use this bridge")
}
