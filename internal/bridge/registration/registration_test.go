// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "c4n4ry"

// serve answers each path with a document, in which URL is the server's own, and
// all other requests as an MCP server does that wants a token.
func serve(t *testing.T, challenge string, documents map[string]string) string {
	t.Helper()
	var url string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, there := documents[r.URL.Path]
		switch {
		case there && strings.HasPrefix(document, "4"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, document[1:])
		case there:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, strings.ReplaceAll(document, "URL", url))
		case r.URL.Path == "/v2/mcp":
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+strings.ReplaceAll(challenge, "URL", url)+`"`)
			}
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	url = s.URL
	return s.URL
}

func finder() Finder {
	return Finder{HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

const (
	metadata = `{"issuer":"URL","authorization_endpoint":"URL/authorize","token_endpoint":"URL/token","registration_endpoint":"URL/register",
		"response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`
	protected = "/.well-known/oauth-protected-resource"
	issuer    = "/.well-known/oauth-authorization-server"
)

func TestFindTheAuthorizationServerOfAServer(t *testing.T) {
	tests := map[string]struct {
		challenge string
		documents map[string]string
		resource  string // after the server's URL
		fails     string
	}{
		"by the path of the server": {"", map[string]string{protected + "/v2/mcp": `{"resource":"URL/v2/mcp","authorization_servers":["URL"]}`, issuer: metadata}, "/v2/mcp", ""},
		"by the host of the server": {"", map[string]string{protected: `{"resource":"URL","authorization_servers":["URL"]}`, issuer: metadata}, "", ""},
		"by the server's refusal, for a folder above it": {"URL/meta",
			map[string]string{"/meta": `{"resource":"URL/v2","authorization_servers":["URL"]}`, issuer: metadata}, "/v2", ""},
		"by a path of the issuer": {"", map[string]string{
			protected:          `{"resource":"URL","authorization_servers":["URL/tenant"]}`,
			issuer + "/tenant": strings.Replace(metadata, `"URL"`, `"URL/tenant"`, 1),
		}, "", ""},
		"by the metadata of OpenID Connect": {"", map[string]string{protected: `{"resource":"URL","authorization_servers":["URL"]}`, "/.well-known/openid-configuration": metadata}, "", ""},
		"of a server without metadata":      {"", map[string]string{issuer: metadata}, "", ""},
		"with metadata of another host":     {"https://evil.example.com/meta", nil, "", "no metadata of an authorization server"},
		"with metadata of another resource": {"", map[string]string{protected: `{"resource":"https://evil.example.com","authorization_servers":["https://evil.example.com"]}`}, "", "of another resource"},
		"with metadata that is no JSON":     {"", map[string]string{protected: canary}, "", "is not JSON metadata"},
		"with another issuer":               {"", map[string]string{issuer: strings.Replace(metadata, `"URL"`, `"https://`+canary+`.example.com"`, 1)}, "", "names another issuer"},
		"with an issuer that has no PKCE":   {"", map[string]string{issuer: strings.Replace(metadata, `["S256"]`, `[]`, 1)}, "", "no PKCE"},
		"with tokens that come without TLS": {"", map[string]string{issuer: strings.Replace(metadata, "URL/token", "http://tokens.example.com", 1)}, "", "cannot be used"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url := serve(t, tt.challenge, tt.documents)
			got, err := finder().Find(t.Context(), url+"/v2/mcp")
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), canary) {
					t.Errorf("error = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tt.documents[protected] != "" || tt.resource != "" {
				want = url + tt.resource
			}
			if got.AuthorizationURL != url+"/authorize" || got.TokenURL != url+"/token" || got.RegistrationURL != url+"/register" || got.Resource != want {
				t.Errorf("found %+v", got)
			}
		})
	}
}

func TestRegisterAClient(t *testing.T) {
	for name, tt := range map[string]struct{ answer, fails string }{
		"a public client":           {`{"client_id":"me","redirect_uris":["http://127.0.0.1:1/callback"]}`, ""},
		"a refusal":                 {`4{"error":"invalid_redirect_uri","error_description":"` + canary + `"}`, "invalid_redirect_uri"},
		"a refusal that is no JSON": {`4` + canary, "some clients only"},
		"no id":                     {`{}`, "some clients only"},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, "", map[string]string{"/register": tt.answer})
			got, err := finder().Register(t.Context(), Server{RegistrationURL: url + "/register"}, "hosted-bridge", "http://127.0.0.1:1/callback")
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), canary) {
					t.Errorf("error = %v", err)
				}
				return
			}
			if err != nil || got != (Client{ID: "me"}) {
				t.Errorf("registered %+v, %v", got, err)
			}
		})
	}
	if _, err := finder().Register(t.Context(), Server{}, "x", "y"); err == nil || !strings.Contains(err.Error(), "registers no clients by itself") {
		t.Errorf("error = %v", err)
	}
}
