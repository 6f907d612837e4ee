// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// A provider may have keys for other clients (RFC 7517, section 5).
func TestAKeyThatCannotBeUsedKeepsNobodyOut(t *testing.T) {
	for name, key := range map[string]string{
		"of an unknown curve":        `{"kty":"EC","crv":"secp256k1","x":"AAAA","y":"AAAA","kid":"2"}`,
		"with a bad certificate":     `{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"2","x5c":["AAAA"]}`,
		"of an unknown kind":         `{"kty":"AKP","alg":"ML-DSA-65","pub":"AAAA","kid":"2"}`,
		"that is a secret":           `{"kty":"oct","k":"AAAA","kid":"1"}`,
		"that is not one":            `7`,
		"of the same id, not usable": `{"kty":"EC","crv":"P-256K","kid":"1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			good := must.Value(json.Marshal(u.publicKey()))(t)
			u.keys = func(w http.ResponseWriter) { write(w, map[string]any{"keys": []json.RawMessage{[]byte(key), good}}) }
			who, err := connect(t, u.config()).Finish(t.Context(), answer)
			if err != nil || who.Subject != "person-1" {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

// A key for encryption, of another algorithm or too short proves nothing, in an ID token as in
// an access token.
func TestAKeyForSomethingElseSignsNoLogin(t *testing.T) {
	short := rsaKey(t, 1024)
	for name, change := range map[string]func(u *upstream, key *jose.JSONWebKey){
		"for encryption":       func(_ *upstream, key *jose.JSONWebKey) { key.Use = "enc" },
		"of another algorithm": func(_ *upstream, key *jose.JSONWebKey) { key.Algorithm = "ES384" },
		"that is too short": func(u *upstream, key *jose.JSONWebKey) {
			key.Key, key.Algorithm = short.Public(), ""
			u.sign = func(claims map[string]any) string {
				signer := must.Value(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: short, KeyID: "1"}}, nil))(t)
				return must.Value(jwt.Signed(signer).Claims(claims).Serialize())(t)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			key := u.publicKey()
			change(u, &key)
			u.keys = func(w http.ResponseWriter) { write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}}) }
			if who, err := connect(t, u.config()).Finish(t.Context(), answer); !errors.Is(err, flow.ErrLogin) {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

func TestASignedUserInfoIsThatOfTheProvidersKeysAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		beside string // another key of the provider
		sign   func(u *upstream, claims map[string]any) string
		want   string
	}{
		"beside a key of an unknown curve": {`{"kty":"EC","crv":"secp256k1","x":"AAAA","y":"AAAA","kid":"2"}`, func(u *upstream, c map[string]any) string { return signed(u.key, c) }, "ann"},
		"beside a bad certificate":         {`{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"2","x5c":["AAAA"]}`, func(u *upstream, c map[string]any) string { return signed(u.key, c) }, "ann"},
		"by a stranger":                    {`{}`, func(_ *upstream, c map[string]any) string { return signed(curveKey(t, elliptic.P256()), c) }, ""},
		"by nobody":                        {`{}`, func(_ *upstream, c map[string]any) string { return unsigned(c) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			good := must.Value(json.Marshal(u.publicKey()))(t)
			u.keys = func(w http.ResponseWriter) {
				write(w, map[string]any{"keys": []json.RawMessage{[]byte(tt.beside), good}})
			}
			u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			u.signedInfo = tt.sign(u, map[string]any{"sub": "person-1", "login": "ann"})
			c := u.config()
			c.User.Claim = "login"
			who, err := connect(t, c).Finish(t.Context(), answer)
			if string(who.User) != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%+v, %v", who, err)
			}
			expectDiscreet(t, err)
		})
	}
}

func TestKeysThatCannotBeReadAreNoFaultOfThePerson(t *testing.T) {
	for name, keys := range map[string]func(w http.ResponseWriter){
		"they are away":    func(w http.ResponseWriter) { http.Error(w, secret, http.StatusServiceUnavailable) },
		"they are no keys": func(w http.ResponseWriter) { write(w, secret) },
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.keys, u.refresh, u.next = keys, refreshToken, nextToken
			c := u.config()
			c.Groups, c.Limits.Grace = "groups", time.Hour
			p := connect(t, c)
			_, err := p.Finish(t.Context(), answer)
			if !errors.Is(err, errKeys) || errors.Is(err, flow.ErrLogin) {
				t.Errorf("%v", err)
			}
			expectDiscreet(t, err)

			u.change(func(u *upstream) { u.refresh = refreshToken })
			who, err := p.Renew(t.Context(), flow.Identity{Issuer: u.URL, Subject: "person-1", RefreshToken: refreshToken})
			if err != nil || who.RefreshToken != nextToken || who.Groups != nil || !errors.Is(who.GroupsError, errKeys) {
				t.Errorf("at a refresh: %v, groups: %v, the next token is kept: %v", err, who.GroupsError, who.RefreshToken == nextToken)
			}
			expectDiscreet(t, who.GroupsError)

			u.change(func(u *upstream) { u.keys = nil })
			if who, err := p.Finish(t.Context(), answer); err != nil || who.Subject != "person-1" {
				t.Errorf("when they are back: %v", err)
			}
		})
	}
}

// edSigner signs under the name of RFC 9864, which the library does not know.
type edSigner ed25519.PrivateKey

func (s edSigner) Public() *jose.JSONWebKey {
	return &jose.JSONWebKey{Key: ed25519.PrivateKey(s).Public(), KeyID: "1"}
}
func (s edSigner) Algs() []jose.SignatureAlgorithm { return []jose.SignatureAlgorithm{oauth.Ed25519} }
func (s edSigner) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	return ed25519.Sign(ed25519.PrivateKey(s), payload), nil
}

func TestATokenByEd25519IsThatOfItsKeyAlone(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	_, other, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	hash := sha512.Sum512([]byte(accessToken))
	for name, tt := range map[string]struct {
		named []string
		by    ed25519.PrivateKey
		hash  string
		good  bool
	}{
		"named so":                    {[]string{"RS256", "Ed25519"}, private, "", true},
		"named EdDSA":                 {[]string{"EdDSA"}, private, "", true},
		"with the hash of its token":  {[]string{"Ed25519"}, private, base64.RawURLEncoding.EncodeToString(hash[:32]), true},
		"with the hash of another":    {[]string{"Ed25519"}, private, base64.RawURLEncoding.EncodeToString(hash[32:]), false},
		"by another key":              {[]string{"Ed25519"}, other, "", false},
		"not named by the provider":   {[]string{"RS256"}, private, "", false},
		"of a provider without names": {nil, private, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.discovery["id_token_signing_alg_values_supported"] = tt.named
			u.keys = func(w http.ResponseWriter) {
				x := base64.RawURLEncoding.EncodeToString(public)
				write(w, map[string]any{"keys": []map[string]string{{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "1", "alg": "Ed25519", "use": "sig"}}})
			}
			u.sign = func(claims map[string]any) string {
				if tt.hash != "" {
					claims["at_hash"] = tt.hash
				}
				signer := must.Value(jose.NewSigner(jose.SigningKey{Algorithm: oauth.Ed25519, Key: edSigner(tt.by)}, nil))(t)
				return must.Value(jwt.Signed(signer).Claims(claims).Serialize())(t)
			}
			if who, err := connect(t, u.config()).Finish(t.Context(), answer); (err == nil) != tt.good || err != nil && !errors.Is(err, flow.ErrLogin) {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}
