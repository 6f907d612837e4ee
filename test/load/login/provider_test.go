// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// providerClient and providerSecret are by which the provider knows the
	// installation.
	providerClient = "hosted-bridge"
	providerSecret = "the-benchmarks-own-secret"
)

// provider is an OpenID provider that answers at once, and believes everybody who
// they say they are.
type provider struct {
	issuer string
	keys   []byte
	signer jose.Signer

	mu    sync.Mutex
	codes map[string]admitted
}

// admitted is who has logged in, and what their code was asked with.
type admitted struct{ subject, nonce, challenge, redirect string }

func startProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{codes: map[string]admitted{}}
	signing := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}
	if p.signer, err = jose.NewSigner(signing, (&jose.SignerOptions{}).WithType("JWT")); err != nil {
		t.Fatal(err)
	}
	p.keys, err = json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: string(jose.ES256), Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(p.keys) })
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	server := httptest.NewServer(mux)
	t.Cleanup(func() { connections.CloseIdleConnections(); server.Close() })
	p.issuer = server.URL
	return p
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token", "jwks_uri": p.issuer + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "code_challenge_methods_supported": []string{"S256"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "authorization_response_iss_parameter_supported": true,
	})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // Whoever hung up does not read it.
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = admitted{q.Get("login_hint"), q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
	p.mu.Unlock()
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.issuer}}.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	code := r.PostFormValue("code")
	p.mu.Lock()
	who, ok := p.codes[code]
	delete(p.codes, code)
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || id != providerClient || secret != providerSecret || r.PostFormValue("redirect_uri") != who.redirect ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != who.challenge {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	now := time.Now()
	signed, err := jwt.Signed(p.signer).Claims(map[string]any{
		"iss": p.issuer, "sub": who.subject, "aud": id, "nonce": who.nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "name": who.subject,
	}).Serialize()
	if err != nil {
		http.Error(w, `{"error":"server_error"}`, http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": signed})
}
