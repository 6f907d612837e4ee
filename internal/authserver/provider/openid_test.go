// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestALoginBeginsAtTheProvider(t *testing.T) {
	u := newUpstream(t)
	c := u.config()
	c.User.Claim = "email"
	p := connect(t, c)
	if p.ID() != "upstream" || p.Name() != "Upstream" {
		t.Errorf("it is %s, %s", p.ID(), p.Name())
	}
	where, got := begun(t, p)
	want := map[string][]string{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {callback}, "state": {"state"}, "nonce": {nonce},
		"scope": {"openid profile email"}, "code_challenge": {challenge()}, "code_challenge_method": {"S256"},
	}
	if diff := cmp.Diff(want, map[string][]string(got)); diff != "" || where != u.URL+"/authorize" {
		t.Errorf("%s: (-want +got)\n%s", where, diff)
	}
}

func TestWhatAProviderIsAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		scopes []string
		claim  string
		want   string
	}{
		"who it is, without a word":         {nil, "", "openid profile"},
		"what was configured":               {[]string{"openid", "groups"}, "", "openid groups"},
		"who it is, whatever is configured": {[]string{"profile"}, "", "openid profile"},
		"the email that the rule needs":     {[]string{"openid"}, "email", "openid email"},
		"it only once":                      {[]string{"email", "openid"}, "email", "email openid"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(scopesOf(Config{Scopes: test.scopes, User: oauth.UserRule{Claim: test.claim}}), " "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAPersonIsWhoTheProviderSays(t *testing.T) {
	email := oauth.UserRule{Claim: "email", Suffix: "@example.com"}
	for name, test := range map[string]struct {
		rule   oauth.UserRule
		change func(u *upstream)
		want   flow.Identity
		asked  int // at the UserInfo endpoint
	}{
		"by the ID token": {change: func(*upstream) {}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
		"with a user by the rule": {rule: email, change: func(u *upstream) {
			u.claims["email"], u.claims["email_verified"] = "Ann@example.com", true
		}, want: flow.Identity{Subject: "person-1", Name: "Ann", User: "ann"}},
		"without one by an email of elsewhere": {rule: email, change: func(u *upstream) {
			u.claims["email"], u.claims["email_verified"] = "ann@example.org", true
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
		"without one by an email that nobody has verified": {rule: email, change: func(u *upstream) {
			u.claims["email"], u.claims["email_verified"] = "ann@example.com", false
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
		"with what the ID token lacks": {rule: email, change: func(u *upstream) {
			delete(u.claims, "name")
			u.userInfo = map[string]any{"sub": "person-1", "email": "ann@example.com", "email_verified": true, "name": "Ann B."}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann B.", User: "ann"}, asked: 1},
		"by the ID token before anything else, whose email the other word is not of": {rule: email, change: func(u *upstream) {
			u.claims["email"] = "ann@example.com"
			u.userInfo = map[string]any{"sub": "person-1", "email": "bob@example.com", "email_verified": true, "name": "Bob"}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}, asked: 1},
		"with a user by a word of the same email": {rule: email, change: func(u *upstream) {
			u.claims["email"] = "ann@example.com"
			u.userInfo = map[string]any{"sub": "person-1", "email": "ann@example.com", "email_verified": true}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann", User: "ann"}, asked: 1},
		"without one by a word of no email": {rule: email, change: func(u *upstream) {
			u.claims["email"] = "ann@example.com"
			u.userInfo = map[string]any{"sub": "person-1", "email_verified": true}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}, asked: 1},
		"without one by a word of the ID token about another email": {rule: email, change: func(u *upstream) {
			u.claims["email_verified"] = true
			u.userInfo = map[string]any{"sub": "person-1", "email": "ann@example.com"}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}, asked: 1},
		"without one by an email that is none": {rule: email, change: func(u *upstream) {
			u.claims["email"] = []string{"ann@example.com"}
			u.userInfo = map[string]any{"sub": "person-1", "email": "ann@example.com", "email_verified": true}
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}, asked: 1},
		"without a name, if that is all that is lacking": {change: func(u *upstream) {
			delete(u.claims, "name")
			u.claims["email"] = "ann@example.com"
			u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
		}, want: flow.Identity{Subject: "person-1", Name: "ann@example.com"}, asked: 1},
		"under a name that fits on a page": {change: func(u *upstream) {
			u.claims["name"] = " A\n\u202en" + strings.Repeat("n", 200)
		}, want: flow.Identity{Subject: "person-1", Name: "An" + strings.Repeat("n", 98)}},
		"for an audience of several, of which we are the one it was made for": {change: func(u *upstream) {
			u.claims["aud"], u.claims["azp"] = []string{"other", clientID}, clientID
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
		"at a provider that says who it is": {change: func(u *upstream) {
			u.discovery["authorization_response_iss_parameter_supported"] = true
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
		"with the hash of the access token": {change: func(u *upstream) {
			sum := sha256.Sum256([]byte(accessToken))
			u.claims["at_hash"] = base64.RawURLEncoding.EncodeToString(sum[:16])
		}, want: flow.Identity{Subject: "person-1", Name: "Ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			test.change(u)
			if u.userInfo != nil {
				u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			}
			c := u.config()
			c.User = test.rule
			a := answer
			a.Iss = u.URL
			got, err := connect(t, c).Finish(t.Context(), a)
			test.want.Issuer = u.URL
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			if n := u.count("/userinfo"); n != test.asked {
				t.Errorf("asked for user info %d times", n)
			}
		})
	}
}

// TestWhatIsNoLogin has each thing by which somebody could be let in as another.
func TestWhatIsNoLogin(t *testing.T) {
	for name, test := range map[string]struct {
		change func(u *upstream)
		answer func(a *flow.LoginAnswer)
		rule   oauth.UserRule
		away   bool // it is nobody's fault but the provider's or ours
	}{
		"the nonce of another login":            {change: func(u *upstream) { u.claims["nonce"] = "other" }},
		"no nonce":                              {change: func(u *upstream) { delete(u.claims, "nonce") }},
		"no nonce where none was asked for":     {change: func(u *upstream) { delete(u.claims, "nonce") }, answer: func(a *flow.LoginAnswer) { a.Nonce = "" }},
		"a token for another client":            {change: func(u *upstream) { u.claims["aud"] = "other" }},
		"a token for several, made for nobody":  {change: func(u *upstream) { u.claims["aud"] = []string{clientID, "other"} }},
		"a token for us that another asked for": {change: func(u *upstream) { u.claims["azp"] = "other" }},
		"a token of another issuer":             {change: func(u *upstream) { u.claims["iss"] = "https://login.example.com" }},
		"a token of the issuer with a slash":    {change: func(u *upstream) { u.claims["iss"] = u.URL + "/" }},
		"a token that is over":                  {change: func(u *upstream) { u.claims["exp"] = time.Now().Add(-skew - time.Second).Unix() }},
		"a token that is not yet":               {change: func(u *upstream) { u.claims["nbf"] = time.Now().Add(time.Hour).Unix() }},
		"a token of nobody":                     {change: func(u *upstream) { delete(u.claims, "sub") }},
		"a token of somebody who has no name":   {change: func(u *upstream) { u.claims["sub"] = "a\x00b" }},
		"a token of a number":                   {change: func(u *upstream) { u.claims["sub"] = 17 }},
		"a token of another access token":       {change: func(u *upstream) { u.claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }},
		"no token":                              {change: func(u *upstream) { u.sign = func(map[string]any) string { return "" } }},
		"a token that is none":                  {change: func(u *upstream) { u.sign = func(map[string]any) string { return accessToken } }},
		"a token signed with the client secret": {change: func(u *upstream) {
			u.sign = func(c map[string]any) string { return signed([]byte(strings.Repeat(secret, 4)), c) }
		}},
		"a token signed with the public key": {change: func(u *upstream) { u.sign = func(c map[string]any) string { return signed(elliptical(u), c) } }},
		"a token that nobody signed":         {change: func(u *upstream) { u.sign = unsigned }},
		"a token that a stranger signed": {change: func(u *upstream) {
			other := newUpstream(t)
			u.sign = func(c map[string]any) string { return signed(other.key, c) }
		}},
		"an algorithm that was not announced": {change: func(u *upstream) { u.discovery["id_token_signing_alg_values_supported"] = []string{"RS256"} }},
		"algorithms of which none has a key":  {change: func(u *upstream) { u.discovery["id_token_signing_alg_values_supported"] = []string{"HS256", "none"} }},
		"an answer of another issuer":         {change: func(*upstream) {}, answer: func(a *flow.LoginAnswer) { a.Iss = "https://login.example.com" }},
		"an answer that does not say whose":   {change: func(u *upstream) { u.discovery["authorization_response_iss_parameter_supported"] = true }},
		"a code that is unknown":              {change: func(*upstream) {}, answer: func(a *flow.LoginAnswer) { a.Code = "geheim-other" }},
		"a code that is another's":            {change: func(*upstream) {}, answer: func(a *flow.LoginAnswer) { a.Verifier = "geheim-other" }},
		"a code for elsewhere":                {change: func(*upstream) {}, answer: func(a *flow.LoginAnswer) { a.RedirectURL = "https://other.example.com" }},
		"user info of another person":         {rule: oauth.UserRule{Claim: "login"}, change: func(u *upstream) { u.userInfo = map[string]any{"sub": "person-2", "login": "bob"} }},
		"user info of nobody":                 {rule: oauth.UserRule{Claim: "login"}, change: func(u *upstream) { u.userInfo = map[string]any{"login": "bob"} }},
		"user info that is refused":           {rule: oauth.UserRule{Claim: "login"}, away: true, change: func(u *upstream) { u.discovery["userinfo_endpoint"] = u.URL + "/userinfo" }},
		"the discovery document of another":   {away: true, change: func(u *upstream) { u.discovery["issuer"] = "https://login.example.com" }},
		"a token endpoint that anybody hears": {away: true, change: func(u *upstream) { u.discovery["token_endpoint"] = "http://login.example.com/token" }},
		"keys that anybody replaces":          {away: true, change: func(u *upstream) { u.discovery["jwks_uri"] = "http://login.example.com/keys" }},
		"no keys":                             {away: true, change: func(u *upstream) { delete(u.discovery, "jwks_uri") }},
		"a token endpoint that does not work": {away: true, change: func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) { http.Error(w, code, http.StatusBadGateway) }
		}},
		"a token endpoint that leads elsewhere": {away: true, change: func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) {
				w.Header().Set("Location", u.URL+"/elsewhere")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		}},
		"a token endpoint with words of its own": {away: true, change: func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) { w.WriteHeader(400); write(w, map[string]string{"error": code}) }
		}},
		"a token endpoint that never ends": {away: true, change: func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) {
				_, _ = io.WriteString(w, `{"access_token":"`+strings.Repeat(code, maxBody/len(code)+1))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			test.change(u)
			if u.userInfo != nil {
				u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			}
			c, a := u.config(), answer
			c.User = test.rule
			if test.answer != nil {
				test.answer(&a)
			}
			who, err := connect(t, c).Finish(t.Context(), a)
			if err == nil || !cmp.Equal(who, flow.Identity{}) || !strings.HasPrefix(err.Error(), "login at upstream: ") {
				t.Errorf("%+v, %v", who, err)
			}
			if errors.Is(err, flow.ErrLogin) == test.away {
				t.Errorf("whose fault it is was not said: %v", err)
			}
			expectDiscreet(t, err)
			if u.count("/elsewhere") > 0 {
				t.Error("the redirect was followed")
			}
		})
	}
}

// elliptical returns the provider's public key as bytes, which everybody knows.
func elliptical(u *upstream) []byte {
	b, err := u.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return b
}

// unsigned returns a token of the algorithm none.
func unsigned(claims map[string]any) string {
	key := make([]byte, 32)
	token := strings.Split(signed(key, claims), ".")
	return "eyJhbGciOiJub25lIn0." + token[1] + "."
}

func TestWeSayWhoWeAreAsTheProviderWantsIt(t *testing.T) {
	for name, test := range map[string]struct {
		methods []string
		secret  func() (string, error)
		known   string
		want    string
	}{
		"without a word":            {nil, given(secret), secret, "basic"},
		"in the header":             {[]string{"client_secret_post", "client_secret_basic"}, given(secret), secret, "basic"},
		"in the body":               {[]string{"private_key_jwt", "client_secret_post"}, given(secret), secret, "post"},
		"without a secret":          {[]string{"client_secret_basic", "none"}, nil, "", "post"},
		"with a secret of no words": {nil, given(""), "", "post"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			if u.secret = test.known; test.methods != nil {
				u.discovery["token_endpoint_auth_methods_supported"] = test.methods
			}
			c := u.config()
			c.Secret = test.secret
			if _, err := connect(t, c).Finish(t.Context(), answer); err != nil || u.style != test.want {
				t.Errorf("%s, %v", u.style, err)
			}
			if n := u.count("/token"); n != 1 {
				t.Errorf("a code that can be used once was sent %d times", n)
			}
		})
	}
}

func TestClocksMayDifferByAMinute(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ours is late": time.Minute, "ours is early": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			theirs := time.Now().Add(ahead)
			u.claims["iat"], u.claims["nbf"], u.claims["exp"] = theirs.Unix(), theirs.Unix(), theirs.Add(10*time.Second).Unix()
			if _, err := connect(t, u.config()).Finish(t.Context(), answer); err != nil {
				t.Error(err)
			}
		})
	}
}

// Some take another method than the first that they name.
func TestAnAdministratorSaysHowTheSecretIsSent(t *testing.T) {
	for name, tt := range map[string]struct {
		named        []string
		method, want string
	}{
		"in the body":     {[]string{"client_secret_basic", "client_secret_post"}, "client_secret_post", "post"},
		"in the header":   {[]string{"client_secret_post"}, "client_secret_basic", "basic"},
		"that it is sent": {[]string{"private_key_jwt"}, "client_secret_post", "post"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.discovery["token_endpoint_auth_methods_supported"] = tt.named
			c := u.config()
			c.AuthMethod = tt.method
			if _, err := connect(t, c).Finish(t.Context(), answer); err != nil || u.style != tt.want {
				t.Errorf("%s, %v", u.style, err)
			}
		})
	}
}

func TestAProviderThatTakesNoSecretGetsNone(t *testing.T) {
	u := newUpstream(t)
	u.discovery["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt", "tls_client_auth"}
	_, err := connect(t, u.config()).Finish(t.Context(), answer)
	if err == nil || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), "set tokenEndpointAuthMethod") || u.count("/token") != 0 {
		t.Errorf("%v, asked %d times", err, u.count("/token"))
	}
}

func given(secret string) func() (string, error) {
	return func() (string, error) { return secret, nil }
}

func TestANewSecretIsUsedAtOnce(t *testing.T) {
	u := newUpstream(t)
	c := u.config()
	current, failed := "geheim-before", error(nil)
	c.Secret = func() (string, error) { return current, failed }
	p := connect(t, c)
	_, err := p.Finish(t.Context(), answer)
	if !errors.Is(err, flow.ErrLogin) { // The test's provider blames the code for everything.
		t.Error(err)
	}
	expectDiscreet(t, err)
	current = secret
	if _, err := p.Finish(t.Context(), answer); err != nil {
		t.Error(err)
	}
	failed = errors.New("no such file")
	if _, err := p.Finish(t.Context(), answer); err == nil || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestAProviderThatIsAwayIsAskedAgain(t *testing.T) {
	u := newUpstream(t)
	u.down = true
	p := connect(t, u.config())
	if _, err := p.Begin(t.Context(), request); err == nil || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	u.change(func(u *upstream) { u.down = false })
	begun(t, p)
	if n := u.count("/.well-known/openid-configuration"); n != 2 {
		t.Errorf("looked up %d times", n)
	}
}

func TestManyWhoLogInLookTheProviderUpOnce(t *testing.T) {
	u := newUpstream(t)
	p := connect(t, u.config())
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := p.Begin(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	// One may come between the others' answer and its own question.
	if n := u.count("/.well-known/openid-configuration"); n > 2 {
		t.Errorf("looked up %d times", n)
	}
}

func TestWhoLeavesDoesNotEndItForOthers(t *testing.T) {
	u := newUpstream(t)
	p := connect(t, u.config())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Begin(ctx, request); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	begun(t, p)
}

// TestWhatAProviderSaysOfItselfIsLookedUpAgain has a provider that moves, and is
// away for a while before that.
func TestWhatAProviderSaysOfItselfIsLookedUpAgain(t *testing.T) {
	u := newUpstream(t)
	p := connect(t, u.config())
	var c clock
	p.now = c.now
	begun(t, p)
	u.change(func(u *upstream) {
		u.discovery["authorization_endpoint"] = u.URL + "/elsewhere"
		u.down = true
	})
	next := func() time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.next
	}
	c.move(freshFor - time.Second)
	if where, _ := begun(t, p); where != u.URL+"/authorize" || u.count("/.well-known/openid-configuration") != 1 {
		t.Error("it was looked up too early")
	}
	c.move(2 * time.Second)
	before := next()
	if where, _ := begun(t, p); where != u.URL+"/authorize" {
		t.Errorf("a provider that is away is at %s", where)
	}
	wait.Until(t, "the attempt", func() bool { return !next().Equal(before) })
	u.change(func(u *upstream) { u.down = false })
	if where, _ := begun(t, p); where != u.URL+"/authorize" || u.count("/.well-known/openid-configuration") != 2 {
		t.Error("it is asked again and again")
	}
	c.move(pause)
	wait.Until(t, "the new place", func() bool {
		where, _ := begun(t, p)
		return where == u.URL+"/elsewhere"
	})
}

func TestConfigurationsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"no id":                          func(c *Config) { c.ID = "" },
		"an id that is no part of a URL": func(c *Config) { c.ID = "a/b" },
		"an id that is too long":         func(c *Config) { c.ID = strings.Repeat("a", 33) },
		"no client id":                   func(c *Config) { c.ClientID = "" },
		"no issuer":                      func(c *Config) { c.Issuer = "" },
		"an issuer that anybody hears":   func(c *Config) { c.Issuer = "http://login.example.com" },
		"an issuer with a password":      func(c *Config) { c.Issuer = "https://me:geheim@login.example.com" },
		"an issuer with a fragment":      func(c *Config) { c.Issuer = "https://login.example.com#a" },
		"an issuer with a query":         func(c *Config) { c.Issuer = "https://login.example.com?a" },
		"an issuer that is no URL":       func(c *Config) { c.Issuer = "https://login.example.com:geheim" },
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{ID: "a", Issuer: "https://login.example.com", ClientID: clientID}
			must.Value(OIDC(c))(t)
			change(&c)
			p, err := OIDC(c)
			if err == nil || p != nil {
				t.Error("it is taken")
			}
			expectDiscreet(t, err)
		})
	}
	if p, err := OIDC(Config{ID: "a", Issuer: "http://127.0.0.1:1", ClientID: clientID}); err != nil || p.Name() != "a" {
		t.Errorf("a provider on this machine: %v", err)
	}
}

// TestAPersonIsKnownByAnotherClaim has a provider whose sub is another one for each
// application, as Microsoft Entra's is.
func TestAPersonIsKnownByAnotherClaim(t *testing.T) {
	noToken := func(map[string]any) string { return "" }
	for name, test := range map[string]struct {
		change, renew func(u *upstream)
		refused       bool // in the login
		lost          bool // when asked again
	}{
		"by the ID token":        {change: func(*upstream) {}, renew: func(*upstream) {}},
		"without the claim":      {change: func(u *upstream) { delete(u.claims, "oid") }, refused: true},
		"with a number":          {change: func(u *upstream) { u.claims["oid"] = 7 }, refused: true},
		"with an empty text":     {change: func(u *upstream) { u.claims["oid"] = "" }, refused: true},
		"then another person":    {change: func(*upstream) {}, renew: func(u *upstream) { u.claims["oid"] = "object-2" }, lost: true},
		"then without the claim": {change: func(*upstream) {}, renew: func(u *upstream) { delete(u.claims, "oid") }, lost: true},
		"with another sub then":  {change: func(*upstream) {}, renew: func(u *upstream) { u.claims["sub"] = "person-2" }},
		"by UserInfo of the same sub": {change: func(u *upstream) {
			delete(u.claims, "name")
			u.userInfo = map[string]any{"sub": "person-1", "name": "Ann"}
		}, renew: func(*upstream) {}},
		"by UserInfo alone, which does not have it": {change: func(u *upstream) { u.userInfo = map[string]any{"sub": "person-1"} }, renew: func(u *upstream) { u.sign = noToken }},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.refresh, u.next = refreshToken, refreshToken
			u.claims["oid"] = "object-1"
			test.change(u)
			if u.userInfo != nil {
				u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			}
			c := u.config()
			c.SubjectClaim, c.Groups, c.Limits.Grace = "oid", "groups", time.Hour
			p := connect(t, c)
			a := answer
			a.Iss = u.URL
			who, err := p.Finish(t.Context(), a)
			if (err != nil) != test.refused || err == nil && who.Subject != "object-1" {
				t.Fatalf("%+v, %v", who, err)
			}
			if test.refused {
				return
			}
			test.renew(u)
			who.RefreshToken = refreshToken
			again, err := p.Renew(t.Context(), who)
			if (err != nil) != test.lost || err == nil && again.Subject != "object-1" {
				t.Errorf("again: %+v, %v", again, err)
			}
			if u.sign != nil && again.GroupsError == nil {
				t.Error("groups are believed that may be another person's")
			}
		})
	}
}

func TestTheVersionTellsWhatDecidesWhoSomebodyIs(t *testing.T) {
	of := func(change func(*Config)) string {
		c := Config{ID: "idp", Name: "The provider", Issuer: "https://idp.example", ClientID: "bridges"}
		change(&c)
		p := must.Value(OIDC(c))(t)
		return p.Version()
	}
	same := of(func(*Config) {})
	for name, change := range map[string]func(*Config){
		"another issuer": func(c *Config) { c.Issuer = "https://other.example" },
		"another client": func(c *Config) { c.ClientID = "other" },
		"a rule":         func(c *Config) { c.User.Claim = "preferred_username" },
		"its suffix":     func(c *Config) { c.User.Suffix = "@a.example" },
		"another claim":  func(c *Config) { c.SubjectClaim = "oid" },
	} {
		if of(change) == same {
			t.Errorf("%s is no other version", name)
		}
	}
	if of(func(c *Config) { c.Name, c.Scopes = "Another name", []string{"openid"} }) != same {
		t.Error("a name makes another version")
	}
}
