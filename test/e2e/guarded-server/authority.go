// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// tokenPath is where the server gives out tokens itself, as an OAuth 2
// authorization server does.
const tokenPath = "/oauth/token"

// authority gives out tokens that end, to a client that knows its secret and to
// whoever has a login. A login's refresh token can be used once: the answer has
// the next one.
type authority struct {
	lifetime time.Duration
	now      func() time.Time
	clients  []apikey.Hash

	mu     sync.Mutex
	logins []apikey.Hash
	issued map[apikey.Hash]time.Time // until when
}

func newAuthority(lifetime time.Duration, clients, logins []apikey.Hash) *authority {
	return &authority{lifetime: lifetime, now: time.Now, clients: clients, logins: logins, issued: map[apikey.Hash]time.Time{}}
}

// knows reports whether a token is one of those that were given out and have not
// ended.
func (a *authority) knows(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.issued[apikey.HashOf(token)]
	return ok && a.now().Before(until)
}

// granted is the answer of RFC 6749, section 5.1.
type granted struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
}

// ServeHTTP implements http.Handler.
func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	refresh := ""
	switch r.PostForm.Get("grant_type") {
	case "client_credentials":
		if _, ok := apikey.Match(clientSecret(r), a.clients); !ok {
			refuse(w, http.StatusUnauthorized, "invalid_client")
			return
		}
	case "refresh_token":
		next, ok := a.exchange(r.PostForm.Get("refresh_token"))
		if !ok {
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		refresh = next
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	_ = json.NewEncoder(w).Encode(granted{a.issue(), "Bearer", int(a.lifetime.Seconds()), refresh})
}

// refuse answers as RFC 6749, section 5.2, has it.
func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
}

// clientSecret returns what the client presents in one of the two ways of RFC
// 6749, section 2.3.1.
func clientSecret(r *http.Request) string {
	if _, secret, ok := r.BasicAuth(); ok {
		secret, _ = url.QueryUnescape(secret)
		return secret
	}
	return r.PostForm.Get("client_secret")
}

func (a *authority) issue() string {
	token := rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued[apikey.HashOf(token)] = a.now().Add(a.lifetime)
	return token
}

// exchange takes a refresh token for the next one.
func (a *authority) exchange(refresh string) (next string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ok := apikey.Match(refresh, a.logins)
	if !ok {
		return "", false
	}
	next = rand.Text()
	a.logins = append(slices.Delete(a.logins, i, i+1), apikey.HashOf(next))
	return next, true
}
