// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// What a login is made of in these tests. None of it may be in an error.
const (
	clientID    = "hosted-bridge"
	secret      = "geheim-secret"
	code        = "geheim-code"
	accessToken = "geheim-token"
	nonce       = "geheim-nonce"
	verifier    = "geheim-verifier-of-the-necessary-length-43-"
	callback    = "https://bridges.example.com/oauth/callback/upstream"
)

var (
	request = flow.LoginRequest{State: "state", Nonce: nonce, Verifier: verifier, RedirectURL: callback, Offline: true}
	answer  = flow.LoginAnswer{Code: code, Nonce: nonce, Verifier: verifier, RedirectURL: callback}
)

// upstream is an OpenID provider that says what a test has it say.
type upstream struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu         sync.Mutex
	down       bool
	discovery  map[string]any
	claims     map[string]any
	userInfo   map[string]any
	signedInfo string                             // in place of userInfo
	sign       func(claims map[string]any) string // nil: with key
	tokens     func(w http.ResponseWriter)        // nil: as it should be
	keys       func(w http.ResponseWriter)        // nil: key's public half
	secret     string                             // "" for a public client
	refresh    string                             // the refresh token, "" for none
	next       string                             // the refresh token after that
	style      string                             // how the client proved who it is
	clientKey  any                                // public; nil for a client with a secret
	assertion  jose.Header                        // of the last one
	used       map[any]bool                       // the ids of assertions
	pushed     []url.Values                       // what logins were asked for with
	push       func(w http.ResponseWriter)        // nil: as it should be
	requests   map[string]int
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	key := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	u := &upstream{key: key, secret: secret, requests: map[string]int{}, used: map[any]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", u.serve(func(w http.ResponseWriter, _ *http.Request) { write(w, u.discovery) }))
	mux.HandleFunc("GET /keys", u.serve(func(w http.ResponseWriter, _ *http.Request) {
		if u.keys != nil {
			u.keys(w)
			return
		}
		write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{u.publicKey()}})
	}))
	mux.HandleFunc("POST /token", u.serve(u.token))
	mux.HandleFunc("POST /par", u.serve(u.takePushed))
	mux.HandleFunc("GET /userinfo", u.serve(func(w http.ResponseWriter, r *http.Request) {
		if u.userInfo == nil && u.signedInfo == "" || r.Header.Get("Authorization") != "Bearer "+accessToken {
			http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		if u.signedInfo != "" {
			w.Header().Set("Content-Type", "application/jwt; charset=utf-8")
			_, _ = io.WriteString(w, u.signedInfo)
			return
		}
		write(w, u.userInfo)
	}))
	u.Server = httptest.NewTLSServer(mux)
	t.Cleanup(u.Close)
	u.discovery = map[string]any{
		"issuer": u.URL, "authorization_endpoint": u.URL + "/authorize", "token_endpoint": u.URL + "/token", "jwks_uri": u.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
	}
	u.claims = map[string]any{
		"iss": u.URL, "sub": "person-1", "aud": clientID, "nonce": nonce, "name": "Ann",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	return u
}

func (u *upstream) publicKey() jose.JSONWebKey {
	return jose.JSONWebKey{Key: u.key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}
}

// serve counts requests, and answers them one after the other.
func (u *upstream) serve(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.requests[r.URL.Path]++
		if u.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		next(w, r)
	}
}

func (u *upstream) count(path string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[path]
}

// change changes what the provider says.
func (u *upstream) change(how func(u *upstream)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	how(u)
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (u *upstream) token(w http.ResponseWriter, r *http.Request) {
	if u.tokens != nil {
		u.tokens(w)
		return
	}
	good := r.FormValue("code") == code && r.FormValue("code_verifier") == verifier && r.FormValue("redirect_uri") == callback
	if r.FormValue("grant_type") == "refresh_token" {
		good = u.refresh != "" && r.FormValue("refresh_token") == u.refresh
		u.refresh = u.next
	}
	if !u.knows(r) || !good {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		write(w, map[string]string{"error": "invalid_grant", "error_description": "the code " + r.FormValue("code") + " is unknown"})
		return
	}
	answer := map[string]any{"access_token": accessToken, "token_type": "Bearer"}
	if u.refresh != "" {
		answer["refresh_token"] = u.refresh
	}
	if u.sign == nil {
		answer["id_token"] = signed(u.key, u.claims)
	} else if token := u.sign(u.claims); token != "" {
		answer["id_token"] = token
	}
	write(w, answer)
}

// knows reports whether a request is the client's.
func (u *upstream) knows(r *http.Request) bool {
	if r.ParseForm() != nil {
		return false
	}
	id, given, basic := r.BasicAuth()
	if u.style = "basic"; !basic {
		id, given, u.style = r.FormValue("client_id"), r.FormValue("client_secret"), "post"
	}
	if u.clientKey == nil {
		return id == clientID && given == u.secret && !r.Form.Has("client_assertion")
	}
	u.style = "key"
	return id == clientID && given == "" && !basic && u.verifies(r)
}

// verifies checks an assertion, by RFC 7523, section 3.
func (u *upstream) verifies(r *http.Request) bool {
	token, err := jose.ParseSignedCompact(r.FormValue("client_assertion"), []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA})
	if err != nil || r.FormValue("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return false
	}
	u.assertion = token.Signatures[0].Protected
	payload, err := token.Verify(u.clientKey)
	var claims map[string]any
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return false
	}
	id, _ := claims["jti"].(string)
	issued, _ := claims["iat"].(float64)
	ends, _ := claims["exp"].(float64)
	now := float64(time.Now().Unix())
	replayed := u.used[id]
	u.used[id] = true
	return claims["iss"] == clientID && claims["sub"] == clientID && claims["aud"] == u.URL && len(id) >= 20 && !replayed &&
		issued <= now && now < ends && ends <= issued+60
}

// takePushed keeps what a login is asked for with, by RFC 9126.
func (u *upstream) takePushed(w http.ResponseWriter, r *http.Request) {
	switch good := u.knows(r); {
	case u.push != nil:
		u.push(w)
	case !good:
		w.WriteHeader(http.StatusUnauthorized)
		write(w, map[string]string{"error": "invalid_client", "error_description": "unknown: " + r.FormValue("client_secret")})
	default:
		u.pushed = append(u.pushed, r.PostForm)
		w.WriteHeader(http.StatusCreated)
		write(w, map[string]any{"request_uri": fmt.Sprintf("urn:ietf:params:oauth:request_uri:%d", len(u.pushed)), "expires_in": 5})
	}
}

// signed returns an ID token of the key.
func signed(key any, claims map[string]any) string {
	algorithm := jose.ES256
	if _, symmetric := key.([]byte); symmetric {
		algorithm = jose.HS256
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		panic(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return token
}

func (u *upstream) config() Config {
	return Config{
		ID: "upstream", Name: "Upstream", Issuer: u.URL, ClientID: clientID, Client: u.Client(),
		Secret: func() (string, error) { return secret, nil },
	}
}

func connect(t *testing.T, c Config) *openID {
	t.Helper()
	p := must.Value(OIDC(c))(t)
	return p.(*openID)
}

// begun returns where a login sends the browser, and with what.
func begun(t *testing.T, p flow.Provider) (string, url.Values) {
	t.Helper()
	got := must.Value(p.Begin(t.Context(), request))(t)
	where, query, _ := strings.Cut(got, "?")
	values := must.Value(url.ParseQuery(query))(t)
	return where, values
}

// challenge is S256 of the verifier, by RFC 7636.
func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// expectDiscreet fails where an error repeats a secret of the login.
func expectDiscreet(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "geheim") {
		t.Errorf("the error has a secret in it: %v", err)
	}
}

// clock is one that a test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) move(d time.Duration) { c.ahead.Add(int64(d)) }
