// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// What is refused uses nothing up: the client has its tokens afterwards.
func TestCodesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		more   url.Values
		status int
		code   string
	}{
		{"no grant type", url.Values{"grant_type": nil}, 400, codeInvalidRequest},
		{"another grant type", url.Values{"grant_type": {"password"}}, 400, codeUnsupportedGrant},
		{"two grant types", url.Values{"grant_type": {"authorization_code", "refresh_token"}}, 400, codeInvalidRequest},
		{"no code", url.Values{"code": nil}, 400, codeInvalidGrant},
		{"no client", url.Values{"client_id": nil}, 401, codeInvalidClient},
		{"another client", url.Values{"client_id": {siteID}}, 400, codeInvalidGrant},
		{"two clients", url.Values{"client_id": {desk, desk}}, 400, codeInvalidRequest},
		{"a client with a secret", url.Values{"client_secret": {"s"}}, 401, codeInvalidClient},
		{"a client with an assertion", url.Values{"client_assertion": {"a.b.c"}}, 401, codeInvalidClient},
		{"another redirect URI", url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}}, 400, codeInvalidGrant},
		{"no verifier", url.Values{"code_verifier": nil}, 400, codeInvalidRequest},
		{"a verifier that is too short", url.Values{"code_verifier": {strings.Repeat("v", 42)}}, 400, codeInvalidRequest},
		{"a verifier that is too long", url.Values{"code_verifier": {strings.Repeat("v", 129)}}, 400, codeInvalidRequest},
		{"another verifier", url.Values{"code_verifier": {strings.Repeat("w", 43)}}, 400, codeInvalidGrant},
		{"the challenge as its verifier", url.Values{"code_verifier": {challengeOf(strings.Repeat("v", 43))}}, 400, codeInvalidGrant},
		{"another resource", url.Values{"resource": {everyone}}, 400, codeInvalidTarget},
		{"a second resource", url.Values{"resource": {alices, everyone}}, 400, codeInvalidTarget},
		{"the code as a refresh token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"CODE"}}, 400, codeInvalidGrant},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			good := c.redeems(w.browser().agrees(c, "alice"))
			bad := maps.Clone(good)
			maps.Copy(bad, test.more)
			if bad.Get("refresh_token") == "CODE" {
				bad.Set("refresh_token", good.Get("code"))
			}
			refused(t, w.program(pathToken, bad), test.status, test.code)
			w.mustRedeem(good)
			if w.replays(replayCode) != 0 {
				t.Error("it counts as a replay")
			}
		})
	}
}

func TestCodesOfNobody(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	code := w.browser().agrees(c, "alice")
	for name, other := range map[string]string{
		"another proof": code[:47] + strings.Repeat("A", 43), "another grant": code[:4] + strings.Repeat("A", 43) + code[47:],
		"a longer one": code + "A", "a shorter one": code[:89], "one with another byte": code[:20] + "!" + code[21:], "a refresh token": "hbr_" + code[4:],
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, w.program(pathToken, c.redeems(other)), http.StatusBadRequest, codeInvalidGrant)
		})
	}
	w.mustRedeem(c.redeems(code))
}

func TestACodeIsGoodForAMinute(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	code := w.browser().agrees(c, "alice")
	w.wait(codeLife)
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusBadRequest, codeInvalidGrant)
}

func TestACodeNeedsNoRedirectURIByOAuth21(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	form := c.redeems(w.browser().agrees(c, "alice"))
	form.Del("redirect_uri")
	form.Del("resource")
	w.mustRedeem(form)
}

// Some programs first try to log in by HTTP's basic authentication.
func TestAClientThatTriesASecretFirst(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	form := c.redeems(w.browser().agrees(c, "alice"))
	header := http.Header{
		"Content-Type":  {"application/x-www-form-urlencoded"},
		"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(desk+":"))},
	}
	without := url.Values{}
	for name, values := range form {
		if name != "client_id" {
			without[name] = values
		}
	}
	for _, body := range []url.Values{form, without} {
		a := w.send(http.MethodPost, pathToken, body.Encode(), header)
		refused(t, a, http.StatusUnauthorized, codeInvalidClient)
		if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("challenge %q", a.header.Get("WWW-Authenticate"))
		}
	}
	w.mustRedeem(form)
}

func TestACodeThatComesTwiceEndsItsGrant(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	code := w.browser().agrees(c, "alice")
	_, refresh := w.mustRedeem(c.redeems(code))
	w.audited()
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if acts := w.audited(); len(acts) != 1 || acts[0].Name != "revoke-replayed" || acts[0].User != "alice" || acts[0].Target != desk || acts[0].Login == "" {
		t.Errorf("audit trail %v", acts)
	}
	if w.replays(replayCode) != 1 {
		t.Error("it is not counted")
	}
}

func TestOfTwoRequestsWithOneCodeNobodyKeepsAnything(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	form := c.redeems(w.browser().agrees(c, "alice"))
	var first answer
	// The other one comes while the first has read the grant, and not yet changed it.
	w.store.before = func() { first = w.program(pathToken, form) }
	refused(t, w.program(pathToken, form), http.StatusBadRequest, codeInvalidGrant)
	if first.status != http.StatusOK {
		t.Fatalf("status %d: %s", first.status, first.body)
	}
	refused(t, w.program(pathToken, c.refreshes(first.json("refresh_token"))), http.StatusBadRequest, codeInvalidGrant)
	if w.replays(replayCode) != 1 {
		t.Error("it is not counted")
	}
}

func TestOfManyRequestsWithOneCodeOneGetsTokensAtMost(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	form := c.redeems(w.browser().agrees(c, "alice"))
	var mu sync.Mutex
	var wait sync.WaitGroup
	good := 0
	for range 16 {
		wait.Go(func() {
			if a := w.program(pathToken, form); a.status == http.StatusOK {
				mu.Lock()
				good++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if good != 1 || strings.Contains(w.store.dump(), "grant/") {
		t.Errorf("%d got tokens; the store has\n%s", good, w.store.dump())
	}
}

func TestAClientThatGotNothingTriesAgain(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	form := c.redeems(w.browser().agrees(c, "alice"))
	try := func(form url.Values) (refresh string) {
		t.Helper()
		w.keys.setAway(true)
		a := w.program(pathToken, form)
		refused(t, a, http.StatusServiceUnavailable, codeUnavailable)
		if a.header.Get("Retry-After") != "5" {
			t.Error("it is not said when to try again")
		}
		w.keys.setAway(false)
		for _, op := range []string{"get", "swap"} {
			w.store.fail(op)
			refused(t, w.program(pathToken, form), http.StatusServiceUnavailable, codeUnavailable)
			w.store.works()
		}
		_, refresh = w.mustRedeem(form)
		return refresh
	}
	refresh := try(form)
	w.users.away = true
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusServiceUnavailable, codeUnavailable)
	w.users.away = false
	try(c.refreshes(refresh))
	if strings.Contains(w.logs.String(), refresh[47:]) || w.steps(stepToken, stepFailed) != 7 {
		t.Errorf("%v failed: %s", w.steps(stepToken, stepFailed), w.logs)
	}
}

func TestAReplayIsReportedWhereItCannotEndTheGrant(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	code := w.browser().agrees(c, "alice")
	_, refresh := w.mustRedeem(c.redeems(code))
	w.store.fail("delete")
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusServiceUnavailable, codeUnavailable)
	w.store.works()
	w.auditErr = errFake
	refused(t, w.program(pathToken, c.redeems(code)), http.StatusServiceUnavailable, codeUnavailable)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
}

func TestARefreshTokenIsGoodOnce(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, first := w.logIn(c, "alice")
	access, second := w.mustRedeem(c.refreshes(first))
	if _, err := w.verify(access, alices); err != nil || second == first {
		t.Errorf("the new tokens: %v", err)
	}
	_, third := w.mustRedeem(c.refreshes(second))
	refused(t, w.program(pathToken, c.refreshes(first)), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, c.refreshes(third)), http.StatusBadRequest, codeInvalidGrant)
	if acts := w.audited(); len(acts) != 2 || acts[1].Name != "revoke-replayed" || w.replays(replayRefresh) != 1 {
		t.Errorf("audit trail %v", acts)
	}
}

func TestOfSeveralRequestsWithOneRefreshTokenAllGetTheSame(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	var first answer
	w.store.before = func() { first = w.program(pathToken, c.refreshes(refresh)) }
	access, second := w.mustRedeem(c.refreshes(refresh)) // It finds the other one's change.
	w.wait(retryFor - time.Second)
	_, third := w.mustRedeem(c.refreshes(refresh)) // It comes after both.
	if first.status != http.StatusOK || second != first.json("refresh_token") || third != second || access == first.json("access_token") {
		t.Fatalf("status %d, the same: %v, %v", first.status, second == first.json("refresh_token"), third == second)
	}
	if dump := w.store.dump(); strings.Contains(dump, second[len(second)-43:]) || strings.Contains(dump, refresh[len(refresh)-43:]) {
		t.Error("a token is in the store")
	}
	_, next := w.mustRedeem(c.refreshes(second))
	if next == second || w.replays(replayRefresh) != 0 {
		t.Errorf("the next one is another: %v, replays %v", next != second, w.replays(replayRefresh))
	}
}

func TestARefreshTokenThatComesAgainLaterIsAReplay(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, first := w.logIn(c, "alice")
	_, second := w.mustRedeem(c.refreshes(first))
	w.wait(retryFor)
	refused(t, w.program(pathToken, c.refreshes(first)), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, c.refreshes(second)), http.StatusBadRequest, codeInvalidGrant)
	if w.replays(replayRefresh) != 1 {
		t.Errorf("%v replays", w.replays(replayRefresh))
	}
}

func TestAnotherClientGetsNothingForATokenThatWasUsedUp(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, first := w.logIn(c, "alice")
	w.mustRedeem(c.refreshes(first))
	c.id = siteID
	refused(t, w.program(pathToken, c.refreshes(first)), http.StatusBadRequest, codeInvalidGrant)
}

func TestWhoseChangeWasMadeThoughNobodySaidSoGetsTheirTokens(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	code := w.browser().agrees(c, "alice")
	w.store.mu.Lock()
	w.store.forgetful = true
	w.store.mu.Unlock()
	_, refresh := w.mustRedeem(c.redeems(code))
	w.mustRedeem(c.refreshes(refresh))
}

// A client that gives its token back while it refreshes is no thief.
func TestATokenThatIsGivenBackMeanwhileIsNoReplay(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	w.store.before = func() { w.program(pathRevoke, url.Values{"token": {refresh}, "client_id": {desk}}) }
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
	if w.replays(replayRefresh) != 0 {
		t.Error("it counts as a replay")
	}
}

func TestRefreshesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		more   url.Values
		change func(*world)
		status int
		code   string
		// over is whether the grant has ended.
		over bool
	}{
		{"no token", url.Values{"refresh_token": nil}, nil, 400, codeInvalidGrant, false},
		{"no client", url.Values{"client_id": nil}, nil, 401, codeInvalidClient, false},
		{"another client", url.Values{"client_id": {siteID}}, nil, 400, codeInvalidGrant, false},
		{"another resource", url.Values{"resource": {everyone}}, nil, 400, codeInvalidTarget, false},
		{"more than was granted", url.Values{"scope": {"mcp:read mcp:call"}}, nil, 400, codeInvalidScope, false},
		{"a scope that there is not", url.Values{"scope": {"admin"}}, nil, 400, codeInvalidScope, false},
		{"somebody whose bridge is gone", nil, func(w *world) { w.users.set("alice") }, 400, codeInvalidGrant, true},
		{"somebody who has another bridge now", nil, func(w *world) { w.users.set("alice", "team") }, 400, codeInvalidGrant, true},
		{"whoever logged in before logins were ended", nil, func(w *world) { w.endLogins("alice") }, 400, codeInvalidGrant, true},
		{"a client that is known no more", nil, func(w *world) {
			w.changeClients(func(o *client.RegistryOptions) { o.Configured = nil })
		}, 401, codeInvalidClient, true},
		{"a person who was away too long", nil, func(w *world) { w.wait(defaultRefreshIdle) }, 400, codeInvalidGrant, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			c.more = url.Values{"scope": {"mcp:read"}}
			_, refresh := w.logIn(c, "alice")
			if test.change != nil {
				test.change(w)
			}
			form := c.refreshes(refresh)
			maps.Copy(form, test.more)
			refused(t, w.program(pathToken, form), test.status, test.code)
			if over := !strings.Contains(w.store.dump(), "grant/"); over != test.over && test.name != "a person who was away too long" {
				t.Errorf("the grant has ended: %t", over)
			}
			if test.over {
				return
			}
			w.mustRedeem(c.refreshes(refresh))
		})
	}
}

func TestAGrantEndsWhateverTheClientDoes(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	for range 2 {
		w.wait(13 * 24 * time.Hour)
		_, refresh = w.mustRedeem(c.refreshes(refresh))
	}
	w.wait(4*24*time.Hour - time.Second)
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.wait(time.Second)
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
}

// A narrower access token leaves the grant as it is (RFC 6749, section 6).
func TestAScopeMayBeNarrowedForAToken(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	_, refresh := w.logIn(c, "alice")
	form := c.refreshes(refresh)
	form.Set("scope", "mcp:read")
	form.Set("resource", alices)
	a := w.program(pathToken, form)
	if token, err := w.verify(a.json("access_token"), alices); err != nil || token.Call || !token.Read || a.json("scope") != "mcp:read" {
		t.Errorf("status %d, scope %q (%v)", a.status, a.json("scope"), err)
	}
	if a := w.program(pathToken, c.refreshes(a.json("refresh_token"))); a.json("scope") != "mcp:read mcp:call" {
		t.Errorf("afterwards the scope is %q", a.json("scope"))
	}
}

func TestTheGrantOfEveryonesURLLastsWhileItsPersonMayUseItsBridge(t *testing.T) {
	w := newWorld(t)
	c := deskFor(everyone)
	w.users.set("amy", "alice")
	_, refresh := w.logIn(c, "amy")
	w.users.set("amy", "alice", "team")
	access, refresh := w.mustRedeem(c.refreshes(refresh))
	if token, err := w.verify(access, everyone); err != nil || token.Subject != oauth.KeyOf("https://idp.example", "amy") || token.User != "" || token.Bridge != "uid-alice-0" {
		t.Errorf("token %v, %v", token, err)
	}
	w.users.set("amy", "team")
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
}

func TestAGrantEndsWithWhatItsProviderWasConfiguredAs(t *testing.T) {
	for name, change := range map[string]func(*world){
		"another rule for users": func(w *world) { w.provider.setVersion("2") },
		"no such provider": func(w *world) {
			for _, s := range w.replicas {
				clear(s.providers)
			}
		},
	} {
		w := newWorld(t)
		c := deskFor(alices)
		_, refresh := w.logIn(c, "alice")
		_, refresh = w.mustRedeem(c.refreshes(refresh))
		change(w)
		refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusBadRequest, codeInvalidGrant)
		if strings.Contains(w.store.dump(), "grant/") {
			t.Errorf("%s: the grant is still there", name)
		}
	}
}

func TestAClientWithADocumentGoesOnWhileThatIsAway(t *testing.T) {
	w := newWorld(t)
	c := testClient{id: siteID, redirect: siteURI, resource: alices, verifier: strings.Repeat("v", 43)}
	_, refresh := w.logIn(c, "alice")
	delete(w.documents, siteID)
	_, refresh = w.mustRedeem(c.refreshes(refresh))
	w.changeClients(func(o *client.RegistryOptions) { o.Documents = nil })
	refused(t, w.program(pathToken, c.refreshes(refresh)), http.StatusUnauthorized, codeInvalidClient)
}

func TestBodiesThatAreNoForm(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{pathToken, pathRevoke} {
		refused(t, w.sendJSON(path, `{}`), http.StatusUnsupportedMediaType, codeInvalidRequest)
		refused(t, w.send(http.MethodPost, path, "a=%zz", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}), http.StatusBadRequest, codeInvalidRequest)
		refused(t, w.send(http.MethodPost, path, "a=1&a=2", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}), http.StatusBadRequest, codeInvalidRequest)
	}
}

func TestRevocation(t *testing.T) {
	for _, test := range []struct {
		name   string
		form   func(code, access, refresh string) url.Values
		status int
		code   string
		over   bool
	}{
		{"the refresh token", func(_, _, refresh string) url.Values {
			return url.Values{"token": {refresh}, "client_id": {desk}, "token_type_hint": {"refresh_token"}}
		}, 200, "", true},
		{"one of nobody's", func(_, _, refresh string) url.Values {
			return url.Values{"token": {refresh[:4] + strings.Repeat("A", 86)}, "client_id": {desk}}
		}, 200, "", false},
		{"something else", func(code, _, _ string) url.Values {
			return url.Values{"token": {code}, "client_id": {desk}}
		}, 200, "", false},
		{"the access token", func(_, access, _ string) url.Values {
			return url.Values{"token": {access}, "client_id": {desk}}
		}, 400, codeUnsupportedToken, false},
		{"the refresh token of another client", func(_, _, refresh string) url.Values {
			return url.Values{"token": {refresh}, "client_id": {siteID}}
		}, 400, codeInvalidGrant, false},
		{"no token", func(string, string, string) url.Values { return url.Values{"client_id": {desk}} }, 400, codeInvalidRequest, false},
		{"no client", func(_, _, refresh string) url.Values { return url.Values{"token": {refresh}} }, 401, codeInvalidClient, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := deskFor(alices)
			code := w.browser().agrees(c, "alice")
			access, refresh := w.mustRedeem(c.redeems(code))
			a := w.program(pathRevoke, test.form(code, access, refresh))
			if test.code != "" {
				refused(t, a, test.status, test.code)
			} else if a.status != test.status || a.body != "" {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			if again := w.program(pathToken, c.refreshes(refresh)); (again.status != http.StatusOK) != test.over {
				t.Errorf("afterwards the refresh token: status %d", again.status)
			}
		})
	}
	w := newWorld(t)
	_, refresh := w.logIn(deskFor(alices), "alice")
	for _, op := range []string{"get", "delete"} {
		w.store.fail(op)
		refused(t, w.program(pathRevoke, url.Values{"token": {refresh}, "client_id": {desk}}), http.StatusServiceUnavailable, codeUnavailable)
		w.store.works()
	}
}
