// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	publicURL  = "https://bridges.example.com"
	theirs     = "https://login.example.com/tenant"
	second     = "https://second.example.com"
	resource   = publicURL + "/u/alice/mcp"
	thePerson  = "00u1a2b3"
	theirOther = "api://bridges"
)

// now is when tests are, in whole seconds as tokens have them.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// pairs are the keys of tests, made once as RSA's take a while.
type pairs struct {
	rsa, otherRSA, smallRSA *rsa.PrivateKey
	p256, otherP256, p384   *ecdsa.PrivateKey
	ed                      ed25519.PrivateKey
}

var keys = sync.OnceValue(func() pairs {
	var p pairs
	var errs [7]error
	p.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	p.otherRSA, errs[1] = rsa.GenerateKey(rand.Reader, 2048)
	p.smallRSA, errs[2] = rsa.GenerateKey(rand.Reader, 1024)
	p.p256, errs[3] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.otherP256, errs[4] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.p384, errs[5] = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, p.ed, errs[6] = ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(errs[:]...); err != nil {
		panic(err)
	}
	return p
})

// published are the keys that issuers have.
type published map[string][]jose.JSONWebKey

func (p published) Keys(_ context.Context, issuer, kid string) ([]jose.JSONWebKey, error) {
	if kid == "" {
		return p[issuer], nil
	}
	set := jose.JSONWebKeySet{Keys: p[issuer]}
	return set.Key(kid), nil
}

func public(kid string, key crypto.Signer, algorithm jose.SignatureAlgorithm) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: string(algorithm), Use: "sig"}
}

// theKeys are what the issuers of tests publish, with things that a set of keys
// should not have.
func theKeys() published {
	k := keys()
	unused := public("encryption", k.rsa, "")
	unused.Use = "enc"
	return published{
		publicURL: {public("own", k.p256, jose.ES256), public("own-next", k.otherP256, jose.ES256)},
		theirs: {
			public("rsa", k.rsa, ""), public("rs256", k.rsa, jose.RS256), public("ed", k.ed, jose.EdDSA), public("p384", k.p384, ""),
			public("small", k.smallRSA, jose.RS256), unused,
			{Key: []byte("a secret that is there by mistake"), KeyID: "secret", Algorithm: "HS256"},
			{Key: k.p256, KeyID: "private", Algorithm: "ES256"},
			{KeyID: "nothing"},
			public("twice", k.otherRSA, jose.RS256), public("twice", k.rsa, jose.RS256),
		},
		second: {public("rsa", k.otherRSA, jose.RS256)},
	}
}

func theIssuers() []Issuer {
	return []Issuer{
		{URL: publicURL, Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true},
		{
			URL: theirs, Types: []string{"at+jwt", "JWT"}, Audiences: []string{theirOther},
			ReadScopes: []string{"read"}, CallScopes: []string{"read", "run"},
			User: UserRule{Claim: "preferred_username", Suffix: "@example.com"},
		},
		{URL: second, Algorithms: []jose.SignatureAlgorithm{jose.RS256}},
	}
}

func theVerifier(t testing.TB, issuers []Issuer, source KeySource) *Verifier {
	t.Helper()
	return must.Value(NewVerifier(issuers, source))(t)
}

// object is a JSON object of a test.
type object map[string]any

// with returns a copy that differs: nil leaves a member out.
func (o object) with(changes object) object {
	o = maps.Clone(o)
	for name, value := range changes {
		if value == nil {
			delete(o, name)
			continue
		}
		o[name] = value
	}
	return o
}

func (o object) text() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var (
	ownHeader   = object{"alg": "ES256", "typ": "at+jwt", "kid": "own"}
	theirHeader = object{"alg": "RS256", "typ": "at+jwt", "kid": "rsa"}
	ownClaims   = object{
		"iss": publicURL, "sub": KeyOf(theirs, thePerson).String(), "aud": []string{resource}, "client_id": "desk",
		"scope": "mcp:read mcp:call", "jti": "t1", "iat": now.Unix(), "exp": now.Add(15 * time.Minute).Unix(),
	}
	theirClaims = object{
		"iss": theirs, "sub": thePerson, "aud": resource, "azp": "client", "scope": "openid read run",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(), "preferred_username": "Alice@example.com",
	}
)

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// signed returns a token of any header and claims, also of those that no library
// would make. algorithm is how it is really signed.
func signed(algorithm jose.SignatureAlgorithm, key any, header, payload string) string {
	input := encode(header) + "." + encode(payload)
	return input + "." + encode(string(signature(algorithm, key, input)))
}

func signature(algorithm jose.SignatureAlgorithm, key any, input string) []byte {
	digest := sha256.Sum256([]byte(input))
	var s []byte
	var err error
	switch algorithm {
	case jose.HS256:
		mac := hmac.New(sha256.New, key.([]byte))
		mac.Write([]byte(input))
		s = mac.Sum(nil)
	case jose.RS256:
		s, err = rsa.SignPKCS1v15(rand.Reader, key.(*rsa.PrivateKey), crypto.SHA256, digest[:])
	case jose.PS256:
		s, err = rsa.SignPSS(rand.Reader, key.(*rsa.PrivateKey), crypto.SHA256, digest[:], nil)
	case jose.EdDSA:
		s = ed25519.Sign(key.(ed25519.PrivateKey), []byte(input))
	case jose.ES256:
		private := key.(*ecdsa.PrivateKey)
		r, n, failed := ecdsa.Sign(rand.Reader, private, digest[:])
		err = failed
		size := (private.Curve.Params().BitSize + 7) / 8
		s = append(r.FillBytes(make([]byte, size)), n.FillBytes(make([]byte, size))...)
	}
	if err != nil {
		panic(err)
	}
	return s
}

// own and foreign return tokens that are signed as they should be.
func own(header, claims object) string {
	return signed(jose.ES256, keys().p256, header.text(), claims.text())
}

func foreign(header, claims object) string {
	return signed(jose.RS256, keys().rsa, header.text(), claims.text())
}
