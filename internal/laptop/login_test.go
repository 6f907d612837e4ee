// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// authorizationServer is one that checks what it is sent at its token endpoint.
func authorizationServer(t *testing.T, challenge, redirect *string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		switch {
		case r.URL.Path == "/elsewhere":
			t.Error("the code went on to another place")
		case r.PostFormValue("code") == "moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		case r.PostFormValue("code") == "broken":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, `{"error":"invalid_grant","error_description":"`+canary+`"}`)
		case r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("code") != "the-code" ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != *challenge || r.PostFormValue("redirect_uri") != *redirect ||
			r.PostFormValue("resource") != "https://r":
			t.Errorf("the token endpoint is sent %v", r.PostForm)
			w.WriteHeader(http.StatusBadRequest)
		default:
			_, _ = fmt.Fprint(w, `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":3600}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestLogin(t *testing.T) {
	tests := map[string]struct {
		// back are what the browser is sent back with, in order; STATE is the
		// login's.
		back []string
		want string // part of the error
	}{
		"a login":                           {[]string{"code=the-code&state=STATE"}, ""},
		"another login's return before":     {[]string{"code=evil&state=x", "code=evil", "code=the-code&state=STATE"}, ""},
		"a refusal":                         {[]string{"error=access_denied&state=STATE"}, "access_denied"},
		"no code":                           {[]string{"state=STATE"}, "no code"},
		"a code that the server knows not":  {[]string{"code=broken&state=STATE"}, "400 invalid_grant"},
		"a token endpoint that redirects":   {[]string{"code=moved&state=STATE"}, "307"},
		"a page that is loaded once more":   {[]string{"code=the-code&state=STATE", "code=the-code&state=STATE"}, ""},
		"a person who gives up (no return)": {nil, "not finished in time"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var challenge, redirect string
			server := authorizationServer(t, &challenge, &redirect)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			browsed := make(chan struct{})
			l := Login{
				OAuth: bridgeconfig.OAuth{AuthorizationURL: server.URL + "/authorize", TokenURL: server.URL + "/token", ClientID: "c", Scopes: []string{"s"}, Resource: "https://r"},
				Show: func(address string) {
					u, err := url.Parse(address)
					if err != nil {
						t.Error(err)
					}
					q := u.Query()
					challenge, redirect = q.Get("code_challenge"), q.Get("redirect_uri")
					if q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "c" || q.Get("scope") != "s" || q.Get("resource") != "https://r" || !strings.HasPrefix(redirect, "http://127.0.0.1:") {
						t.Errorf("the person is sent to %s", address)
					}
					go func() {
						defer close(browsed)
						browse(t, redirect, q.Get("state"), tt.back)
						if tt.back == nil {
							cancel()
						}
					}()
				},
			}
			got, err := l.Run(ctx)
			<-browsed
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary) {
					t.Errorf("error = %v", err)
				}
				return
			}
			var tokens map[string]string
			if err != nil || json.Unmarshal(got, &tokens) != nil || tokens["access_token"] != "a" || tokens["refresh_token"] != "r" || tokens["expiry"] == "" {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

// browse goes to the redirect as a browser does. What comes after the login's
// own return may meet nobody any more.
func browse(t *testing.T, redirect, state string, back []string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	finished := false
	for _, query := range back {
		resp, err := client.Get(redirect + "?" + strings.ReplaceAll(query, "STATE", state))
		if err != nil {
			if !finished {
				t.Error(err)
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		ours := strings.Contains(query, "STATE")
		if err != nil || !ours && (resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "not the login")) {
			t.Errorf("%s: %d %s, %v", query, resp.StatusCode, body, err)
		}
		finished = finished || ours
	}
}
