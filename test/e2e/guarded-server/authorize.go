// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// authorizePath is where people log in, as at an authorization server with PKCE.
const authorizePath = "/oauth/authorize"

// person is somebody who has logged in. Their code and their tokens follow from
// their password, so that a test that has chosen it knows what to search for.
type person struct {
	password string
	n        int // how often they got tokens
}

// secretOf returns what a person with the password gets the n-th time. The tests
// know it too.
func secretOf(password, kind string, n int) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", password, kind, n))
	return hex.EncodeToString(hash[:])
}

// code is what a code was given out for.
type code struct{ client, redirect, challenge, password string }

const loginPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Account</title></head><body><main>
<h1>Account</h1>
<form method="post">
<p><label for="password">Password</label> <input id="password" name="password" type="password"></p>
<p><button name="act" value="login">Agree</button> <button name="act" value="cancel">Cancel</button></p>
</form></main></body></html>`

// authorize is the authorization endpoint, and where its page is sent to.
func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect := q.Get("redirect_uri")
	if !slices.Contains(a.redirects, redirect) || q.Get("client_id") == "" {
		http.Error(w, "the client or its redirect_uri is not known", http.StatusBadRequest)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	back := func(name, value string) {
		answer := url.Values{name: {value}, "state": {q.Get("state")}}
		w.Header().Set("Location", redirect+"?"+answer.Encode())
		w.WriteHeader(http.StatusSeeOther)
	}
	switch {
	case q.Get("response_type") != "code" || q.Get("code_challenge") == "" || q.Get("code_challenge_method") != "S256":
		back("error", "invalid_request")
	case r.Method != http.MethodPost:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, loginPage)
	case r.PostFormValue("act") != "login" || r.PostFormValue("password") == "":
		back("error", "access_denied")
	default:
		back("code", a.code(code{q.Get("client_id"), redirect, q.Get("code_challenge"), r.PostFormValue("password")}))
	}
}

// code gives a code out.
func (a *authority) code(of code) string {
	secret := secretOf(of.password, "code", 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[apikey.HashOf(secret)] = of
	return secret
}

// redeem takes a code for tokens. The caller holds a.mu.
func (a *authority) redeem(r *http.Request) (g granted, refusal string) {
	if !a.isClient(r) {
		return g, invalidClient
	}
	hash := apikey.HashOf(r.PostForm.Get("code"))
	of, ok := a.codes[hash]
	delete(a.codes, hash)
	if !ok || of.client != clientID(r) || of.redirect != r.PostForm.Get("redirect_uri") || !of.proven(r.PostForm.Get("code_verifier")) {
		return g, invalidGrant
	}
	return a.next(&person{password: of.password}), ""
}

// proven reports whether the verifier is that of the challenge (RFC 7636, section
// 4.6).
func (c code) proven(verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(c.challenge)) == 1
}

// clientID returns who the client says it is, in the ways of clientSecret.
func clientID(r *http.Request) string {
	if id, _, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(id)
		return id
	}
	return r.PostForm.Get("client_id")
}

// next gives a person's next tokens out. The caller holds a.mu.
func (a *authority) next(p *person) granted {
	p.n++
	refresh := secretOf(p.password, "refresh", p.n)
	a.people[apikey.HashOf(refresh)] = p
	return a.issue(secretOf(p.password, "access", p.n), refresh)
}
