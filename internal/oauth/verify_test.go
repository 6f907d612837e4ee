// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTokensThatAreGood(t *testing.T) {
	k := keys()
	mine := Token{
		Issuer: publicURL, Own: true, Subject: KeyOf(theirs, thePerson), ClientID: "desk", ID: "t1", Issued: now, Expires: now.Add(15 * time.Minute),
		Read: true, Call: true, Scopes: []string{ScopeRead, ScopeCall},
	}
	other := Token{
		Issuer: theirs, Subject: KeyOf(theirs, thePerson), User: "alice", ClientID: "client", Issued: now, Expires: now.Add(time.Hour),
		Read: true, Call: true, Scopes: []string{"openid", "read", "run"},
	}
	change := func(token Token, f func(t *Token)) Token { f(&token); return token }
	tests := map[string]struct {
		token string
		want  Token
	}{
		"our own":                          {own(ownHeader, ownClaims), mine},
		"our own, with the rule's user":    {own(ownHeader, ownClaims.with(object{ClaimUser: "alice"})), change(mine, func(t *Token) { t.User = "alice" })},
		"our own, with the agreed bridge":  {own(ownHeader, ownClaims.with(object{ClaimBridge: "uid-1"})), change(mine, func(t *Token) { t.Bridge = "uid-1" })},
		"our own, with roles":              {own(ownHeader, ownClaims.with(object{ClaimRoles: []string{"curator", "other", "admin"}})), change(mine, func(t *Token) { t.Roles = []Role{RoleAdmin, RoleCurator} })},
		"our own, to read alone":           {own(ownHeader, ownClaims.with(object{"scope": "mcp:read"})), change(mine, func(t *Token) { t.Call, t.Scopes = false, []string{ScopeRead} })},
		"our own, to call alone":           {own(ownHeader, ownClaims.with(object{"scope": "mcp:call"})), change(mine, func(t *Token) { t.Read, t.Scopes = false, []string{ScopeCall} })},
		"our own, for nothing":             {own(ownHeader, ownClaims.with(object{"scope": nil})), change(mine, func(t *Token) { t.Read, t.Call, t.Scopes = false, false, nil })},
		"our own, by the next key":         {signed(jose.ES256, k.otherP256, ownHeader.with(object{"kid": "own-next"}).text(), ownClaims.text()), mine},
		"our own, with one audience":       {own(ownHeader, ownClaims.with(object{"aud": resource})), mine},
		"another's, which names roles":     {foreign(theirHeader, theirClaims.with(object{ClaimRoles: []string{"admin"}})), other},
		"another's":                        {foreign(theirHeader, theirClaims), other},
		"one by a key with an algorithm":   {foreign(theirHeader.with(object{"kid": "rs256"}), theirClaims), other},
		"one that names no key":            {foreign(theirHeader.with(object{"kid": nil}), theirClaims), other},
		"one by the second of an id":       {foreign(theirHeader.with(object{"kid": "twice"}), theirClaims), other},
		"one by PS256":                     {signed(jose.PS256, k.rsa, theirHeader.with(object{"alg": "PS256"}).text(), theirClaims.text()), other},
		"one by EdDSA":                     {signed(jose.EdDSA, k.ed, theirHeader.with(object{"alg": "EdDSA", "kid": "ed"}).text(), theirClaims.text()), other},
		"one by Ed25519":                   {signed(jose.EdDSA, k.ed, theirHeader.with(object{"alg": "Ed25519", "kid": "ed"}).text(), theirClaims.text()), other},
		"one of a type that is configured": {foreign(theirHeader.with(object{"typ": "JWT"}), theirClaims), other},
		"a type in full":                   {foreign(theirHeader.with(object{"typ": "application/AT+JWT"}), theirClaims), other},
		"members that mean nothing":        {foreign(theirHeader.with(object{"x5t": "AAAA", "nonce": "n"}), theirClaims), other},
		"one for several":                  {foreign(theirHeader, theirClaims.with(object{"aud": []string{"https://else.example.com", resource}})), other},
		"one for all resources":            {foreign(theirHeader, theirClaims.with(object{"aud": theirOther})), other},
		"one that has just expired":        {foreign(theirHeader, theirClaims.with(object{"exp": now.Add(-29 * time.Second).Unix()})), change(other, func(t *Token) { t.Expires = now.Add(-29 * time.Second) })},
		"one of a clock that is ahead":     {foreign(theirHeader, theirClaims.with(object{"nbf": now.Add(30 * time.Second).Unix(), "iat": now.Add(30 * time.Second).Unix()})), change(other, func(t *Token) { t.Issued = now.Add(30 * time.Second) })},
		"one without nbf and iat":          {foreign(theirHeader, theirClaims.with(object{"nbf": nil, "iat": nil})), change(other, func(t *Token) { t.Issued = time.Time{} })},
		"scopes as Entra has them":         {foreign(theirHeader, theirClaims.with(object{"scope": nil, "scp": "read"})), change(other, func(t *Token) { t.Call, t.Scopes = false, []string{"read"} })},
		"scopes and client as Okta has":    {foreign(theirHeader, theirClaims.with(object{"scope": nil, "azp": nil, "scp": []string{"run", "read"}, "cid": "c"})), change(other, func(t *Token) { t.ClientID, t.Scopes = "c", []string{"run", "read"} })},
		"a client by RFC 9068":             {foreign(theirHeader, theirClaims.with(object{"client_id": "first"})), change(other, func(t *Token) { t.ClientID = "first" })},
		"a person without a user":          {foreign(theirHeader, theirClaims.with(object{"preferred_username": "alice@else.example.com"})), change(other, func(t *Token) { t.User = "" })},
		"an issuer that asks for no scope": {
			signed(jose.RS256, k.otherRSA, theirHeader.text(), theirClaims.with(object{"iss": second, "scope": nil}).text()),
			Token{Issuer: second, Subject: KeyOf(second, thePerson), ClientID: "client", Issued: now, Expires: now.Add(time.Hour), Read: true, Call: true},
		},
	}
	v := theVerifier(t, theIssuers(), theKeys())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must.Value(v.Verify(t.Context(), tt.token, resource, now))(t)
			got.Expires, got.Issued = got.Expires.UTC(), got.Issued.UTC()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATokenOfAnotherServerDoesNotNameTheUserOrThePersonOfOurs(t *testing.T) {
	v := theVerifier(t, theIssuers(), theKeys())
	victim := KeyOf(theirs, "victim")
	token := foreign(theirHeader, theirClaims.with(object{"sub": victim.String(), ClaimUser: "victim", ClaimBridge: "uid-victim", "preferred_username": nil}))
	got := must.Value(v.Verify(t.Context(), token, resource, now))(t)
	if got.User != "" || got.Subject == victim {
		t.Errorf("the token is taken for %s, user %q", got.Subject, got.User)
	}
}

func TestTheSameSubjectOfTwoIssuersIsTwoPeople(t *testing.T) {
	v := theVerifier(t, theIssuers(), theKeys())
	first := must.Value(v.Verify(t.Context(), foreign(theirHeader, theirClaims), resource, now))(t)
	other, err := v.Verify(t.Context(), signed(jose.RS256, keys().otherRSA, theirHeader.text(), theirClaims.with(object{"iss": second}).text()), resource, now)
	if err != nil {
		t.Fatal(err)
	}
	if first.Subject == other.Subject {
		t.Error("they are one")
	}
}

// away is a source of keys that fails.
type away struct{ error }

func (a away) Keys(context.Context, string, string) ([]jose.JSONWebKey, error) { return nil, a.error }

func TestNothingIsSaidOfATokenWhoseKeysAreAway(t *testing.T) {
	cause := errors.New("no route to host")
	v := theVerifier(t, theIssuers(), away{cause})
	_, err := v.Verify(t.Context(), own(ownHeader, ownClaims), resource, now)
	if !errors.Is(err, ErrKeysAway) || !errors.Is(err, cause) || errors.Is(err, ErrToken) {
		t.Errorf("got %v", err)
	}
	// What is wrong before keys are needed is said all the same, and asks nobody.
	if _, err := v.Verify(t.Context(), "hb_key", resource, now); !errors.Is(err, Malformed) {
		t.Errorf("got %v", err)
	}
}

// counting counts how often keys are asked for.
type counting struct {
	published
	asked int
}

func (c *counting) Keys(ctx context.Context, issuer, kid string) ([]jose.JSONWebKey, error) {
	c.asked++
	return c.published.Keys(ctx, issuer, kid)
}

func TestKeysAreAskedForOnlyOfAConfiguredIssuerInItsForm(t *testing.T) {
	source := &counting{published: theKeys()}
	v := theVerifier(t, theIssuers(), source)
	for _, token := range []string{
		own(ownHeader, ownClaims.with(object{"iss": "https://attacker.example.com"})),
		own(ownHeader.with(object{"typ": "JWT"}), ownClaims),
		own(ownHeader.with(object{"alg": "none"}), ownClaims),
		own(ownHeader.with(object{"jku": "https://attacker.example.com/keys"}), ownClaims),
		strings.Repeat("a", maxToken+1),
	} {
		if _, err := v.Verify(t.Context(), token, resource, now); err == nil {
			t.Error("a token is good that should not be")
		}
	}
	if source.asked != 0 {
		t.Errorf("keys were asked for %d times", source.asked)
	}
}

func TestFewKeysAreTriedForATokenThatNamesNone(t *testing.T) {
	k := keys()
	many := func(before int) published {
		var set []jose.JSONWebKey
		for range before {
			set = append(set, public("", k.otherRSA, jose.RS256))
		}
		return published{second: append(set, public("", k.rsa, jose.RS256))}
	}
	token := foreign(theirHeader.with(object{"kid": nil}), theirClaims.with(object{"iss": second}))
	if _, err := theVerifier(t, theIssuers(), many(maxTried-1)).Verify(t.Context(), token, resource, now); err != nil {
		t.Error(err)
	}
	if _, err := theVerifier(t, theIssuers(), many(maxTried)).Verify(t.Context(), token, resource, now); !errors.Is(err, BadSignature) {
		t.Errorf("got %v", err)
	}
}

func TestIssuersThatCannotBe(t *testing.T) {
	tests := map[string]struct {
		issuers []Issuer
		want    string
	}{
		"none":                            {nil, "there is no issuer"},
		"one without a URL":               {[]Issuer{{}}, "has no URL"},
		"the same twice":                  {[]Issuer{{URL: theirs}, {URL: theirs}}, "twice"},
		"no signature":                    {[]Issuer{{URL: theirs, Algorithms: []jose.SignatureAlgorithm{"none"}}}, "the algorithm"},
		"a secret for everybody":          {[]Issuer{{URL: theirs, Algorithms: []jose.SignatureAlgorithm{jose.RS256, jose.HS256}}}, "the algorithm"},
		"an audience that is empty":       {[]Issuer{{URL: theirs, Audiences: []string{""}}}, "an audience is empty"},
		"our own for all resources":       {[]Issuer{{URL: publicURL, Own: true, Audiences: []string{publicURL}}}, "one resource each"},
		"a problem behind another's good": {[]Issuer{{URL: theirs}, {URL: second, Algorithms: []jose.SignatureAlgorithm{"RSA"}}}, second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewVerifier(tt.issuers, theKeys())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestAVerifierKeepsItsOwnIssuers(t *testing.T) {
	issuers := theIssuers()
	v := theVerifier(t, issuers, theKeys())
	issuers[0].Algorithms[0] = jose.HS256
	issuers[1].Audiences[0], issuers[1].Types[0], issuers[1].CallScopes[1] = "changed", "changed", "changed"
	if _, err := v.Verify(t.Context(), own(ownHeader, ownClaims), resource, now); err != nil {
		t.Error(err)
	}
	got, err := v.Verify(t.Context(), foreign(theirHeader, theirClaims.with(object{"aud": theirOther})), resource, now)
	if err != nil || !got.Call {
		t.Errorf("got %+v, %v", got, err)
	}
	if issuers[1].Types[1] != "JWT" {
		t.Error("the caller's issuers were changed")
	}
}

func TestScopesAreAllThatSomeTokenNeeds(t *testing.T) {
	v := theVerifier(t, theIssuers(), theKeys())
	if diff := cmp.Diff([]string{ScopeCall, ScopeRead, "read", "run"}, v.Scopes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := theVerifier(t, theIssuers()[2:], theKeys()).Scopes(); len(got) != 0 {
		t.Errorf("got %v of an issuer that needs none", got)
	}
}

func TestReasonsAreFixedWords(t *testing.T) {
	for _, r := range Reasons() {
		if !errors.Is(r, ErrToken) || errors.Is(r, ErrKeysAway) || !strings.HasSuffix(r.Error(), string(r)) {
			t.Errorf("%q is %v", string(r), r)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := theVerifier(b, theIssuers(), theKeys())
	for name, token := range map[string]string{"ES256": own(ownHeader, ownClaims), "RS256": foreign(theirHeader, theirClaims)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token, resource, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestTokensNameGroups(t *testing.T) {
	tests := map[string]struct {
		claims object
		want   []string
	}{
		"of the person":                 {object{"roles": []string{"eng", "ops"}}, []string{"eng", "ops"}},
		"none":                          {object{}, []string{}},
		"too many for the token":        {object{"hasgroups": true}, nil},
		"of another type":               {object{"roles": 7}, nil},
		"without the time of the token": {object{"roles": []string{"eng"}, "iat": nil}, nil},
	}
	issuers := theIssuers()
	issuers[1].Groups = "roles"
	v := theVerifier(t, issuers, theKeys())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), foreign(theirHeader, theirClaims.with(object{"iat": now.Unix()}).with(tt.claims)), resource, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if read := tt.want != nil; read != (got.Person == thePerson) {
				t.Errorf("of %q", got.Person)
			}
		})
	}
}
