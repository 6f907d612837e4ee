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

// authority gives out tokens that end, to a client that knows its secret, to
// whoever has a login, and for people who log in here themselves. A login's refresh
// token can be used once: the answer has the next one.
type authority struct {
	lifetime time.Duration
	now      func() time.Time
	clients  []apikey.Hash
	// redirects are where people are sent back to.
	redirects []string

	mu     sync.Mutex
	logins []apikey.Hash
	issued map[apikey.Hash]time.Time // until when
	codes  map[apikey.Hash]code
	people map[apikey.Hash]*person // by the refresh token
}

func newAuthority(lifetime time.Duration, clients, logins []apikey.Hash, redirects ...string) *authority {
	return &authority{
		lifetime: lifetime, now: time.Now, clients: clients, redirects: redirects, logins: logins,
		issued: map[apikey.Hash]time.Time{}, codes: map[apikey.Hash]code{}, people: map[apikey.Hash]*person{},
	}
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
		refuse(w, "invalid_request")
		return
	}
	g, refusal := a.grant(r)
	if refusal != "" {
		refuse(w, refusal)
		return
	}
	_ = json.NewEncoder(w).Encode(g)
}

// grant returns the tokens that the request is for, or the code of an error.
func (a *authority) grant(r *http.Request) (g granted, refusal string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r.PostForm.Get("grant_type") {
	case "client_credentials":
		if !a.isClient(r) {
			return g, invalidClient
		}
		return a.issue(rand.Text(), ""), ""
	case "refresh_token":
		return a.refresh(r)
	case "authorization_code":
		return a.redeem(r)
	}
	return g, "unsupported_grant_type"
}

// The errors of RFC 6749, section 5.2, that several grants have.
const (
	invalidClient = "invalid_client"
	invalidGrant  = "invalid_grant"
)

// refuse answers as that section has it.
func refuse(w http.ResponseWriter, code string) {
	status := http.StatusBadRequest
	if code == invalidClient {
		status = http.StatusUnauthorized
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
}

// isClient reports whether a client asks, and not just anybody.
func (a *authority) isClient(r *http.Request) bool {
	_, ok := apikey.Match(clientSecret(r), a.clients)
	return ok
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

// issue has the access token be good from now on. The caller holds a.mu.
func (a *authority) issue(access, refresh string) granted {
	a.issued[apikey.HashOf(access)] = a.now().Add(a.lifetime)
	return granted{access, "Bearer", int(a.lifetime.Seconds()), refresh}
}

// refresh takes a refresh token for the next one. The caller holds a.mu.
func (a *authority) refresh(r *http.Request) (g granted, refusal string) {
	refresh := r.PostForm.Get("refresh_token")
	if i, ok := apikey.Match(refresh, a.logins); ok {
		next := rand.Text()
		a.logins = append(slices.Delete(a.logins, i, i+1), apikey.HashOf(next))
		return a.issue(rand.Text(), next), ""
	}
	p := a.people[apikey.HashOf(refresh)]
	switch {
	case p == nil:
		return g, invalidGrant
	case !a.isClient(r):
		return g, invalidClient
	}
	delete(a.people, apikey.HashOf(refresh))
	return a.next(p), ""
}
