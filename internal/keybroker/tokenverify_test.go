// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	issuer   = "https://kubernetes.default.svc"
	audience = "hosted-bridge-keybroker"
)

// start is when tests begin, in whole seconds as tokens have them.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// apiServer has the documents of one.
type apiServer struct {
	mu     sync.Mutex
	issuer string
	keys   []jose.JSONWebKey
	err    error
	reads  int // Of the keys.
}

func (a *apiServer) Document(_ context.Context, path string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, a.err
	}
	switch path {
	case "/.well-known/openid-configuration":
		// The address that it names is nowhere, so that it is not asked.
		return json.Marshal(map[string]any{"issuer": a.issuer, "jwks_uri": "https://192.0.2.1/keys", "id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"}})
	case "/openid/v1/jwks":
		a.reads++
		return json.Marshal(jose.JSONWebKeySet{Keys: a.keys})
	}
	return nil, errors.New("not found: " + path)
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	return must.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
}

func ecdsaKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	return must.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
}

func published(id string, key crypto.Signer, algorithm jose.SignatureAlgorithm) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: string(algorithm), Use: "sig"}
}

// claims are those of a token as the kubelet gets it.
func claims() map[string]any {
	return map[string]any{
		"iss": issuer, "aud": []string{audience}, "sub": "system:serviceaccount:tenants:alice-bridge",
		"iat": start.Unix(), "nbf": start.Unix(), "exp": start.Add(time.Hour).Unix(), "jti": "0b1c",
		"kubernetes.io": map[string]any{
			"namespace":      "tenants",
			"node":           map[string]any{"name": "node", "uid": "node-uid"},
			"pod":            map[string]any{"name": "alice-pod", "uid": "pod-uid"},
			"serviceaccount": map[string]any{"name": "alice-bridge", "uid": "account-uid"},
			"warnafter":      start.Add(50 * time.Minute).Unix(),
		},
	}
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if id != "" {
		options.WithHeader(jose.HeaderKey("kid"), id)
	}
	signer := must.Value(jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options))(t)
	payload := must.Value(json.Marshal(claims))(t)
	signed := must.Value(signer.Sign(payload))(t)
	return must.Value(signed.CompactSerialize())(t)
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// pemOf is how a program has a public key that confuses it with a secret.
func pemOf(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	der := must.Value(x509.MarshalPKIXPublicKey(key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestWhatATokenIsGoodFor(t *testing.T) {
	theirs, other, p256, p384 := rsaKey(t), rsaKey(t), ecdsaKey(t, elliptic.P256()), ecdsaKey(t, elliptic.P384())
	secret := []byte(strings.Repeat("s", 32))
	server := &apiServer{issuer: issuer, keys: []jose.JSONWebKey{
		published("rsa", theirs, jose.RS256), published("p256", p256, jose.ES256), published("p384", p384, ""),
		{Key: secret, KeyID: "secret", Algorithm: "HS256", Use: "sig"},
		{Key: other.Public(), KeyID: "encryption", Algorithm: "RS256", Use: "enc"},
		published("rsa", other, jose.RS256),
	}}
	payload := must.Value(json.Marshal(claims()))(t)
	good := &authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:tenants:alice-bridge", UID: "account-uid",
			Extra: map[string]authenticationv1.ExtraValue{extraPodName: {"alice-pod"}, extraPodUID: {"pod-uid"}},
		},
	}
	with := func(change func(c, kubernetes map[string]any)) string {
		c := claims()
		change(c, c["kubernetes.io"].(map[string]any))
		return sign(t, jose.RS256, theirs, "rsa", c)
	}
	set := func(name string, value any) string {
		return with(func(c, _ map[string]any) { c[name] = value })
	}
	without := func(names ...string) string {
		return with(func(c, k map[string]any) {
			for _, name := range names {
				delete(c, name)
				delete(k, name)
			}
		})
	}
	whole := sign(t, jose.RS256, theirs, "rsa", claims())
	embedded := must.Value(json.Marshal(map[string]any{"alg": "RS256", "kid": "theirs", "jwk": published("theirs", other, jose.RS256)}))(t)
	head, rest, _ := strings.Cut(whole, ".")
	for name, tt := range map[string]struct {
		token string
		want  string // Why it is refused; empty for a good one.
	}{
		"one of the API server's":                {whole, ""},
		"one that is signed with ES256":          {sign(t, jose.ES256, p256, "p256", claims()), ""},
		"one that is signed with ES384":          {sign(t, jose.ES384, p384, "p384", claims()), ""},
		"another audience":                       {set("aud", []string{"somebody-else"}), "audience"},
		"the API server's own audience":          {set("aud", []string{issuer}), "audience"},
		"no audience":                            {without("aud"), "audience"},
		"one more audience":                      {set("aud", []string{audience, "somebody-else"}), "audience"},
		"another issuer":                         {set("iss", "https://kubernetes.example.com"), "issuer"},
		"an issuer with a slash more":            {set("iss", issuer+"/"), "issuer"},
		"no issuer":                              {without("iss"), "issuer"},
		"another key under the known id":         {sign(t, jose.RS256, other, "rsa", claims()), "not signed"},
		"another key under an id of its own":     {sign(t, jose.RS256, other, "other", claims()), "not signed"},
		"a key for encryption":                   {sign(t, jose.RS256, other, "encryption", claims()), "not signed"},
		"a key that it brings along":             {encode(string(embedded)) + "." + rest, "not signed"},
		"no id of a key":                         {sign(t, jose.RS256, theirs, "", claims()), "no token"},
		"a key of another algorithm":             {sign(t, jose.RS256, theirs, "p256", claims()), "not signed"},
		"no signature, alg none":                 {encode(`{"alg":"none","kid":"rsa"}`) + "." + encode(string(payload)) + ".", "no token"},
		"alg none with a signature":              {encode(`{"alg":"none","kid":"rsa"}`) + "." + rest, "no token"},
		"alg nOnE":                               {encode(`{"alg":"nOnE","kid":"rsa"}`) + "." + encode(string(payload)) + ".", "no token"},
		"HS256 with the public key":              {sign(t, jose.HS256, pemOf(t, theirs.Public()), "rsa", claims()), "no token"},
		"HS256 with a secret among the keys":     {sign(t, jose.HS256, secret, "secret", claims()), "no token"},
		"PS256, which Kubernetes does not use":   {sign(t, jose.PS256, theirs, "rsa", claims()), "no token"},
		"a changed payload":                      {head + "." + encode(strings.Replace(string(payload), "alice", "bobby", 1)) + whole[strings.LastIndex(whole, "."):], "not signed"},
		"a signature that is cut off":            {whole[:len(whole)-3], "not signed"},
		"something that is no token":             {"hb_0123456789ab", "no token"},
		"nothing":                                {"", "no token"},
		"very many dots":                         {strings.Repeat(".", 16<<10), "no token"},
		"one that has expired":                   {set("exp", start.Unix()), "expired"},
		"one that does not expire":               {without("exp"), "does not expire"},
		"one that is valid in a minute":          {set("nbf", start.Add(time.Minute).Unix()), "not valid yet"},
		"one that is issued in a minute":         {set("iat", start.Add(time.Minute).Unix()), "not valid yet"},
		"one of a clock that is a little ahead":  {set("nbf", start.Add(5*time.Second).Unix()), ""},
		"no pod":                                 {without("pod"), "not bound to a pod"},
		"a pod without a name":                   {with(func(_, k map[string]any) { k["pod"] = map[string]any{"uid": "u"} }), "not bound to a pod"},
		"a pod without a UID":                    {with(func(_, k map[string]any) { k["pod"] = map[string]any{"name": "alice-pod"} }), "not bound to a pod"},
		"bound to a Secret":                      {with(func(_, k map[string]any) { k["secret"] = k["pod"]; delete(k, "pod") }), "not bound to a pod"},
		"no service account":                     {without("serviceaccount"), "not of a service account"},
		"a service account without a UID":        {with(func(_, k map[string]any) { k["serviceaccount"] = map[string]any{"name": "alice-bridge"} }), "not of a service account"},
		"no namespace":                           {without("namespace"), "not of a service account"},
		"a person's":                             {without("kubernetes.io"), "not of a service account"},
		"the subject of another service account": {set("sub", "system:serviceaccount:tenants:bob-bridge"), "subject"},
		"the subject of another namespace":       {set("sub", "system:serviceaccount:hosted-bridge-system:alice-bridge"), "subject"},
		"the claims in another case":             {with(func(c, k map[string]any) { c["Kubernetes.io"] = k; delete(c, "kubernetes.io") }), "not of a service account"},
	} {
		t.Run(name, func(t *testing.T) {
			v := NewTokenVerifier(server, func() time.Time { return start })
			got := must.Value(v.Review(t.Context(), tt.token, audience))(t)
			if tt.want == "" {
				if diff := cmp.Diff(good, got); diff != "" {
					t.Errorf("review (-want +got):\n%s", diff)
				}
				return
			}
			if got.Authenticated || got.User.Username != "" || got.Audiences != nil || !strings.Contains(got.Error, tt.want) {
				t.Errorf("%+v, want a refusal with %q", got, tt.want)
			}
		})
	}
}

// setClock is a time that tests set.
type setClock struct{ time.Time }

func (c *setClock) now() time.Time { return c.Time }

// expect reviews a token and compares what comes of it, and how often the keys
// have been read until then.
func expect(t *testing.T, v *TokenVerifier, token string, authenticated bool, reads int) {
	t.Helper()
	status, err := v.Review(t.Context(), token, audience)
	if err != nil || status.Authenticated != authenticated {
		t.Errorf("%+v, error %v; want %v", status, err, authenticated)
	}
	if got := v.source.(*apiServer).reads; got != reads {
		t.Errorf("the keys were read %d times, want %d", got, reads)
	}
}

func TestKeysAreReadAnewAndNotTooOften(t *testing.T) {
	first, second := ecdsaKey(t, elliptic.P256()), ecdsaKey(t, elliptic.P256())
	server := &apiServer{issuer: issuer, keys: []jose.JSONWebKey{published("first", first, jose.ES256)}}
	c := &setClock{start}
	v := NewTokenVerifier(server, c.now)
	token, later := sign(t, jose.ES256, first, "first", claims()), sign(t, jose.ES256, second, "second", claims())
	expect(t, v, token, true, 1)
	c.Time = start.Add(tokenKeysMaxAge - time.Second)
	expect(t, v, token, true, 1)
	expect(t, v, later, false, 2) // An unknown key is looked for.
	server.keys = append(server.keys, published("second", second, jose.ES256))
	for range 100 {
		expect(t, v, later, false, 2) // But not each time: it is anybody who names one.
	}
	c.Time = c.Add(tokenUnknownEvery)
	expect(t, v, later, true, 3)
	expect(t, v, token, true, 3)

	// A key that is taken away is trusted no longer than a minute.
	server.keys = server.keys[1:]
	c.Time = c.Add(tokenKeysMaxAge - time.Second)
	expect(t, v, token, true, 3)
	c.Time = c.Add(time.Second)
	expect(t, v, token, false, 4)
	expect(t, v, later, true, 4)
	// So is an issuer.
	server.issuer = "https://kubernetes.example.com"
	c.Time = c.Add(tokenKeysMaxAge)
	expect(t, v, later, false, 5)
}

func TestWithoutAnAPIServerNothingIsSaid(t *testing.T) {
	key := ecdsaKey(t, elliptic.P256())
	away := errors.New("connection refused")
	server := &apiServer{issuer: issuer, keys: []jose.JSONWebKey{published("key", key, jose.ES256)}, err: away}
	c := &setClock{start}
	v := NewTokenVerifier(server, c.now)
	token := sign(t, jose.ES256, key, "key", claims())
	if status, err := v.Review(t.Context(), token, audience); !errors.Is(err, away) {
		t.Errorf("%+v, error %v; want that it is away", status, err)
	}
	server.err = nil
	if _, err := v.Review(t.Context(), token, audience); !errors.Is(err, away) {
		t.Errorf("error %v: it was asked again at once", err)
	}
	c.Time = c.Add(tokenFailedEvery)
	expect(t, v, token, true, 1)
	server.err = away
	c.Time = c.Add(tokenKeysMaxAge)
	if status, err := v.Review(t.Context(), token, audience); !errors.Is(err, away) {
		t.Errorf("%+v, error %v: old keys are believed", status, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	v.reading <- struct{}{} // Somebody else reads, and that takes long.
	if _, err := v.Review(gone, token, audience); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v for somebody who left", err)
	}
}

func TestDocumentsThatAreNoneAreErrors(t *testing.T) {
	key := ecdsaKey(t, elliptic.P256())
	token := sign(t, jose.ES256, key, "key", claims())
	public := must.Value(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{published("key", key, jose.ES256)}}))(t)
	for name, change := range map[string]map[string]string{
		"no issuer":           {discoveryPath: `{"jwks_uri":"https://a"}`},
		"a page":              {discoveryPath: `<html>`},
		"no keys":             {keysPath: `{"keys":[]}`},
		"keys that are none":  {keysPath: `[]`},
		"a secret as a key":   {keysPath: `{"keys":[{"kty":"oct","kid":"key","k":"c2VjcmV0","alg":"HS256"}]}`},
		"a key without an id": {keysPath: strings.ReplaceAll(string(public), `"kid":"key",`, "")},
	} {
		t.Run(name, func(t *testing.T) {
			documents := documents{discoveryPath: `{"issuer":"` + issuer + `"}`, keysPath: string(public)}
			maps.Copy(documents, change)
			v := NewTokenVerifier(documents, func() time.Time { return start })
			if status, err := v.Review(t.Context(), token, audience); err == nil {
				t.Errorf("%+v, want an error", status)
			}
		})
	}
}

// documents are what each path has.
type documents map[string]string

func (d documents) Document(_ context.Context, path string) ([]byte, error) {
	return []byte(d[path]), nil
}
