// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// askFor posts a form to the authority, with a password where there is one.
func askFor(t *testing.T, a *authority, form url.Values, password string) (granted, int) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, tokenPath, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if password != "" {
		r.SetBasicAuth("client", url.QueryEscape(password))
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	var g granted
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &g))
	return g, w.Code
}

func TestTokensAreGivenOutAndEnd(t *testing.T) {
	a := newAuthority(time.Minute, []apikey.Hash{apikey.HashOf("a secret&")}, nil)
	now := time.Now()
	a.now = func() time.Time { return now }
	own := url.Values{"grant_type": {"client_credentials"}}
	for name, password := range map[string]string{"none": "", "another": "secret"} {
		if g, status := askFor(t, a, own, password); status != http.StatusUnauthorized || g.AccessToken != "" {
			t.Errorf("%s: status %d", name, status)
		}
	}
	g, status := askFor(t, a, own, "a secret&")
	if status != http.StatusOK || g.ExpiresIn != 60 || g.RefreshToken != "" || !a.knows(g.AccessToken) {
		t.Errorf("status %d, %d seconds", status, g.ExpiresIn)
	}
	inForm := url.Values{"grant_type": {"client_credentials"}, "client_secret": {"a secret&"}}
	if other, status := askFor(t, a, inForm, ""); status != http.StatusOK || other.AccessToken == g.AccessToken {
		t.Errorf("status %d for a secret in the form", status)
	}
	now = now.Add(time.Minute)
	if a.knows(g.AccessToken) || a.knows("") {
		t.Error("a token outlives its time")
	}
}

func TestALoginIsGoodForOneRefresh(t *testing.T) {
	a := newAuthority(time.Minute, nil, []apikey.Hash{apikey.HashOf("first")})
	with := func(refresh string) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	}
	g, status := askFor(t, a, with("first"), "")
	if status != http.StatusOK || g.RefreshToken == "" || !a.knows(g.AccessToken) {
		t.Fatalf("status %d", status)
	}
	if _, status := askFor(t, a, with("first"), ""); status != http.StatusBadRequest {
		t.Errorf("status %d for a login that was used", status)
	}
	if _, status := askFor(t, a, with(g.RefreshToken), ""); status != http.StatusOK {
		t.Errorf("status %d for the next one", status)
	}
}
