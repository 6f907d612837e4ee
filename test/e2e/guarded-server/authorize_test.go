// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

const (
	redirectURI = "https://client.example/back"
	verifier    = "a verifier"
)

// asked is what a client sends a person with.
func asked() url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {"client"}, "redirect_uri": {redirectURI}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
}

// logIn has a person answer the page that these parameters lead to.
func logIn(t *testing.T, a *authority, asked url.Values, form string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, authorizePath+"?"+asked.Encode(), strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	a.authorize(w, r)
	return w
}

// sentBack returns what a person brings to the client.
func sentBack(t *testing.T, w *httptest.ResponseRecorder) url.Values {
	t.Helper()
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusSeeOther || !strings.HasPrefix(to.String(), redirectURI+"?") || to.Query().Get("state") != "s" {
		t.Fatalf("status %d to %s (%v)", w.Code, to, err)
	}
	return to.Query()
}

func people() *authority {
	return newAuthority(time.Minute, []apikey.Hash{apikey.HashOf("secret")}, nil, redirectURI)
}

func TestPeopleLogIn(t *testing.T) {
	a := people()
	w := httptest.NewRecorder()
	a.authorize(w, httptest.NewRequest(http.MethodGet, authorizePath+"?"+asked().Encode(), nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `name="password"`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	code := sentBack(t, logIn(t, a, asked(), "act=login&password=p")).Get("code")
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}}
	first, status := askFor(t, a, form, "secret")
	if status != http.StatusOK || !a.knows(first.AccessToken) || first.AccessToken != secretOf("p", "access", 1) {
		t.Fatalf("status %d", status)
	}
	if _, status := askFor(t, a, form, "secret"); status != http.StatusBadRequest {
		t.Errorf("status %d for a code that was used", status)
	}
	refresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.RefreshToken}}
	if _, status := askFor(t, a, refresh, "other"); status != http.StatusUnauthorized {
		t.Errorf("status %d for another client's refresh", status)
	}
	second, status := askFor(t, a, refresh, "secret")
	if status != http.StatusOK || second.AccessToken != secretOf("p", "access", 2) || second.RefreshToken == first.RefreshToken {
		t.Errorf("status %d for a refresh", status)
	}
	if _, status := askFor(t, a, refresh, "secret"); status != http.StatusBadRequest {
		t.Errorf("status %d for a refresh token that was used", status)
	}
}

func TestWhatACodeIsNotGivenFor(t *testing.T) {
	for name, test := range map[string]struct {
		change func(asked, form url.Values)
		error  string
		status int
	}{
		"another redirect":            {change: func(q, _ url.Values) { q.Set("redirect_uri", "https://other.example") }, status: http.StatusBadRequest},
		"no client":                   {change: func(q, _ url.Values) { q.Del("client_id") }, status: http.StatusBadRequest},
		"no challenge":                {change: func(q, _ url.Values) { q.Del("code_challenge") }, error: "invalid_request"},
		"a challenge that is plain":   {change: func(q, _ url.Values) { q.Set("code_challenge_method", "plain") }, error: "invalid_request"},
		"a person who does not agree": {change: func(_, form url.Values) { form.Set("act", "cancel") }, error: "access_denied"},
		"no password":                 {change: func(_, form url.Values) { form.Del("password") }, error: "access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			q, form := asked(), url.Values{"act": {"login"}, "password": {"p"}}
			test.change(q, form)
			w := logIn(t, people(), q, form.Encode())
			if test.status != 0 {
				if w.Code != test.status || w.Header().Get("Location") != "" {
					t.Errorf("status %d", w.Code)
				}
				return
			}
			if got := sentBack(t, w); got.Get("error") != test.error || got.Has("code") {
				t.Errorf("error %q", got.Get("error"))
			}
		})
	}
}

func TestWhatACodeIsNotTakenWith(t *testing.T) {
	for name, change := range map[string]func(form url.Values){
		"another code":     func(form url.Values) { form.Set("code", "other") },
		"another redirect": func(form url.Values) { form.Set("redirect_uri", "https://other.example") },
		"another verifier": func(form url.Values) { form.Set("code_verifier", "other") },
		"no verifier":      func(form url.Values) { form.Del("code_verifier") },
	} {
		t.Run(name, func(t *testing.T) {
			a := people()
			code := sentBack(t, logIn(t, a, asked(), "act=login&password=p")).Get("code")
			form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}}
			change(form)
			if _, status := askFor(t, a, form, "secret"); status != http.StatusBadRequest {
				t.Errorf("status %d", status)
			}
		})
	}
}
