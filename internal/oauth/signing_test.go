// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// now is in period 692.
var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func keys(t testing.TB, first byte, generation uint32) oauth.SigningKeys {
	t.Helper()
	authority := must.Value(pki.NewAuthority([32]byte{first}))(t)
	return oauth.NewSigningKeys(authority, generation)
}

// claims returns those of a good token of that time, changed as told. A change
// to nil leaves a claim out.
func claims(t testing.TB, at time.Time, changes map[string]any) []byte {
	t.Helper()
	all := map[string]any{
		"iss": "https://bridges.example.com", "sub": "canary-subject", "aud": []string{"https://bridges.example.com/mcp"},
		"client_id": "desk", "scope": "mcp:read mcp:call", "jti": "canary-id", "iat": at.Unix(), "exp": at.Add(15 * time.Minute).Unix(),
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return must.Value(json.Marshal(all))(t)
}

func sign(t testing.TB, k oauth.SigningKeys, at time.Time) string {
	t.Helper()
	return must.Value(k.Sign(claims(t, at, nil), at))(t)
}

func published(t testing.TB, k oauth.SigningKeys, at time.Time) jose.JSONWebKeySet {
	t.Helper()
	return must.Value(k.Public(at))(t)
}

// verify reports whether the set has the key that the token names, and that has
// signed it.
func verify(t testing.TB, set jose.JSONWebKeySet, token string) bool {
	t.Helper()
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	found := set.Key(signed.Signatures[0].Header.KeyID)
	if len(found) != 1 {
		return false
	}
	_, err = signed.Verify(found[0])
	return err == nil
}

func TestATokenSaysWhatItIsAndWhichKeySignedIt(t *testing.T) {
	signed := must.Value(jose.ParseSignedCompact(sign(t, keys(t, 1, 0), now), []jose.SignatureAlgorithm{jose.ES256}))(t)
	// The name of the key is a vector, computed elsewhere: the RFC 7638 thumbprint
	// of the vector in internal/pki.
	const kid = "EqnZARE8KyFtLRcHrpnhkY7jnzpZ_f9te-cfStmsycM"
	header := signed.Signatures[0].Protected
	if header.Algorithm != "ES256" || header.KeyID != kid || header.JSONWebKey != nil || header.Nonce != "" {
		t.Errorf("header %+v", header)
	}
	if diff := cmp.Diff(map[jose.HeaderKey]any{jose.HeaderType: "at+jwt"}, header.ExtraHeaders); diff != "" {
		t.Errorf("further header (-want +got):\n%s", diff)
	}
	var got, want map[string]any
	if err := errors.Join(json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &got), json.Unmarshal(claims(t, now, nil), &want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestThePublicKeysAreThoseOfThreePeriodsAndNothingElse(t *testing.T) {
	before, set, after := published(t, keys(t, 1, 0), now.Add(-oauth.SigningPeriod)), published(t, keys(t, 1, 0), now), published(t, keys(t, 1, 0), now.Add(oauth.SigningPeriod))
	if len(set.Keys) != 3 {
		t.Fatalf("%d keys", len(set.Keys))
	}
	for i := range 2 {
		if set.Keys[i].KeyID != before.Keys[i+1].KeyID || set.Keys[i+1].KeyID != after.Keys[i].KeyID {
			t.Error("the keys of neighbouring periods do not overlap")
		}
	}
	var shown struct{ Keys []map[string]string }
	b, err := json.Marshal(set)
	must.Succeed(t, errors.Join(err, json.Unmarshal(b, &shown)))
	for _, key := range shown.Keys {
		want := map[string]string{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": key["kid"], "x": key["x"], "y": key["y"]}
		if diff := cmp.Diff(want, key); diff != "" || len(key["kid"]) != 43 || len(key["x"]) != 43 || len(key["y"]) != 43 {
			t.Errorf("key (-want +got):\n%s", diff)
		}
	}
}

func TestWhoseTokensAreVerifiedByWhichKeys(t *testing.T) {
	begin := time.Unix(692*int64(oauth.SigningPeriod/time.Second), 0)
	for _, test := range []struct {
		name           string
		signer, reader oauth.SigningKeys
		signed, read   time.Time
		want           bool
	}{
		{"another replica at the same time", keys(t, 1, 0), keys(t, 1, 0), now, now, true},
		{"a token that outlives its key's period", keys(t, 1, 0), keys(t, 1, 0), begin.Add(-time.Second), begin.Add(time.Hour), true},
		{"a replica whose clock is behind, as a period begins", keys(t, 1, 0), keys(t, 1, 0), begin, begin.Add(-time.Second), true},
		{"keys that were read a period ago", keys(t, 1, 0), keys(t, 1, 0), begin, begin.Add(-oauth.SigningPeriod), true},
		{"a token of two periods before", keys(t, 1, 0), keys(t, 1, 0), begin.Add(-oauth.SigningPeriod - time.Second), begin, false},
		{"another installation", keys(t, 2, 0), keys(t, 1, 0), now, now, false},
		{"an earlier generation", keys(t, 1, 0), keys(t, 1, 1), now, now, false},
		{"a later generation", keys(t, 1, 1), keys(t, 1, 0), now, now, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := verify(t, published(t, test.reader, test.read), sign(t, test.signer, test.signed)); got != test.want {
				t.Errorf("verified: %v, want %v", got, test.want)
			}
		})
	}
}

func TestClaimsThatAreSigned(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes map[string]any
	}{
		{"with a user by a rule", map[string]any{"hb_user": "alice"}},
		{"for an hour", map[string]any{"exp": now.Add(oauth.MaxTokenLifetime).Unix()}},
		{"by a clock that is 5 minutes behind", map[string]any{"iat": now.Add(-5 * time.Minute).Unix()}},
		{"by a clock that is 5 minutes ahead", map[string]any{"iat": now.Add(5 * time.Minute).Unix()}},
		{"of somebody whose name is not ASCII", map[string]any{"sub": "zoë <&>"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := keys(t, 1, 0)
			if token, err := k.Sign(claims(t, now, test.changes), now); err != nil || !verify(t, published(t, k, now), token) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestClaimsThatAreNotSigned(t *testing.T) {
	change := func(name string, value any) []byte { return claims(t, now, map[string]any{name: value}) }
	raw := func(name, json string) []byte {
		return []byte(strings.Replace(string(change(name, "PLACE")), `"PLACE"`, json, 1))
	}
	seconds := func(d time.Duration) int64 { return now.Add(d).Unix() }
	for _, test := range []struct {
		name   string
		claims []byte
		says   string
	}{
		{"nothing", nil, "JSON"},
		{"not JSON", []byte("canary"), "JSON"},
		{"cut off", change("x", 1)[:40], "JSON"},
		{"followed by something", append(change("x", 1), '1'), "JSON"},
		{"an array", []byte("[]"), "object"},
		{"null", []byte("null"), "object"},
		{"an issuer that stands twice", raw("iss", `"https://a.example","iss":"canary"`), "once"},
		{"an end that stands twice", raw("exp", fmt.Sprintf(`%d,"exp":%d`, seconds(time.Minute), seconds(time.Hour))), "once"},
		{"a name twice, once escaped", raw("iss", `"https://a.example","is\u0073":"canary"`), "once"},
		{"no issuer", change("iss", nil), "iss"},
		{"an empty issuer", change("iss", ""), "iss"},
		{"an issuer that is a number", change("iss", 1), "iss"},
		{"no subject", change("sub", nil), "sub"},
		{"an empty subject", change("sub", ""), "sub"},
		{"no identifier", change("jti", nil), "jti"},
		{"an empty identifier", change("jti", ""), "jti"},
		{"the issuer in upper case", []byte(strings.Replace(string(change("x", 1)), `"iss"`, `"ISS"`, 1)), "iss"},
		{"no audience", change("aud", nil), "aud"},
		{"an audience that is a text", change("aud", "https://a.example"), "aud"},
		{"no audience among audiences", change("aud", []string{}), "aud"},
		{"an empty audience", change("aud", []string{""}), "aud"},
		{"two audiences", change("aud", []string{"https://a.example", "https://b.example"}), "aud"},
		{"an audience that is a number", change("aud", []int{1}), "aud"},
		{"no beginning", change("iat", nil), "iat"},
		{"a beginning that is a text", change("iat", fmt.Sprint(now.Unix())), "iat"},
		{"a beginning with a fraction", raw("iat", fmt.Sprintf("%d.5", now.Unix())), "iat"},
		{"a beginning with an exponent", raw("iat", "1e9"), "iat"},
		{"a beginning too long ago", change("iat", seconds(-5*time.Minute-time.Second)), "iat"},
		{"a beginning too far ahead", change("iat", seconds(5*time.Minute+time.Second)), "iat"},
		{"no end", change("exp", nil), "exp"},
		{"an end that is a text", change("exp", "never"), "exp"},
		{"an end that no number holds", raw("exp", "9223372036854775808"), "exp"},
		{"an end in the farthest time", raw("exp", "9223372036854775807"), "exp"},
		{"an end in the farthest past", raw("exp", "-9223372036854775808"), "exp"},
		{"an end at the beginning", change("exp", now.Unix()), "exp"},
		{"an end before the beginning", change("exp", now.Unix()-1), "exp"},
		{"an end after more than an hour", change("exp", seconds(oauth.MaxTokenLifetime+time.Second)), "exp"},
		{"too much", change("x", strings.Repeat("x", oauth.MaxClaims)), "larger"},
	} {
		t.Run(test.name, func(t *testing.T) {
			token, err := keys(t, 1, 0).Sign(test.claims, now)
			if token != "" || !errors.Is(err, oauth.ErrClaims) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one that says %q", err, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error quotes the claims: %v", err)
			}
		})
	}
}

func TestKeysPrintNoSecret(t *testing.T) {
	secret := [32]byte{0xca, 0xfe, 0xba, 0xbe, 0xca, 0xfe, 0xba, 0xbe}
	authority := must.Value(pki.NewAuthority(secret))(t)
	k := oauth.NewSigningKeys(authority, 0)
	shown := fmt.Sprintf("%v %+v %#v", k, k, k)
	for _, form := range []string{"202 254 186 190", "cafebabe", "0xca, 0xfe"} {
		if strings.Contains(shown, form) {
			t.Error("the secret is in what is printed")
		}
	}
}

// FuzzSign holds that what is signed is JSON with all that a reader needs, each
// once.
func FuzzSign(f *testing.F) {
	k := keys(f, 1, 0)
	set := published(f, k, now)
	f.Add(claims(f, now, nil))
	f.Add([]byte(`{"iss":"a","iss":"b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		token, err := k.Sign(b, now)
		if (err == nil) != (token != "") || err != nil && !errors.Is(err, oauth.ErrClaims) {
			t.Fatalf("%d bytes, error %v", len(token), err)
		}
		if err != nil {
			return
		}
		if !verify(t, set, token) {
			t.Error("it is not verified")
		}
		signed := must.Value(jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256}))(t)
		var got struct {
			Issuer   string   `json:"iss"`
			Audience []string `json:"aud"`
			Expires  int64    `json:"exp"`
		}
		if err := json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &got); err != nil || got.Issuer == "" || len(got.Audience) != 1 || got.Expires > now.Add(oauth.MaxTokenLifetime+5*time.Minute).Unix() {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	k := keys(b, 1, 0)
	body := claims(b, now, nil)
	for b.Loop() {
		if _, err := k.Sign(body, now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPublic(b *testing.B) {
	k := keys(b, 1, 0)
	for b.Loop() {
		if _, err := k.Public(now); err != nil {
			b.Fatal(err)
		}
	}
}
