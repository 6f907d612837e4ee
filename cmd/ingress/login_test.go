// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/ingress/identity"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestTheConfigurationSaysWhoseTokensAreAccepted(t *testing.T) {
	o := loginOptions{File: write(t, `
publicURL: https://bridges.example.com
issuers:
- issuer: https://login.example.com
  jwksURL: https://login.example.com/keys
  algorithms: [RS256]
  types: [JWT]
  audiences: ["api://bridges"]
  scopes: {read: [bridges.read], call: [bridges.call]}
  user: {claim: preferred_username, suffix: "@example.com"}
server:
  name: Bridges
  store: sqlite:/nowhere/login.db
  providers: [{id: google, type: oidc, issuer: "https://accounts.google.com", clientID: x, clientSecretFile: /nowhere/google}]
`)}
	found := must.Value(o.read())(t)
	want := []oauth.Issuer{
		{URL: "https://bridges.example.com", Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true},
		{
			URL: "https://login.example.com", Algorithms: []jose.SignatureAlgorithm{jose.RS256}, Types: []string{"JWT"}, Audiences: []string{"api://bridges"},
			ReadScopes: []string{"bridges.read"}, CallScopes: []string{"bridges.call"}, User: oauth.UserRule{Claim: "preferred_username", Suffix: "@example.com"},
		},
	}
	if diff := cmp.Diff(want, issuersOf(found)); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
	sources := keySources(found, &identity.SigningKeys{})
	if len(sources) != 2 || sources[0].Issuer != found.PublicURL || sources[0].Fetch == nil || sources[1].URL != "https://login.example.com/keys" || sources[1].Fetch != nil {
		t.Errorf("sources of keys: %+v", sources)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := sources[0].Fetch(ended); !errors.Is(err, identity.ErrNoKeybroker) {
		t.Errorf("before the keybroker is known: %v", err)
	}
}

// The file of the key reaches the requests to the provider.
func TestAConfiguredKeyProvesWhoTheInstallationIs(t *testing.T) {
	key := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	block := &pem.Block{Type: "PRIVATE KEY", Bytes: must.Value(x509.MarshalPKCS8PrivateKey(key))(t)}
	mux := http.NewServeMux()
	upstream := httptest.NewServer(mux)
	defer upstream.Close()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %[1]q, "authorization_endpoint": %[1]q, "token_endpoint": %[1]q, "jwks_uri": %[1]q,
			"pushed_authorization_request_endpoint": "%[1]s/par", "token_endpoint_auth_methods_supported": ["private_key_jwt"]}`, upstream.URL)
	})
	mux.HandleFunc("POST /par", func(w http.ResponseWriter, r *http.Request) {
		token, err := jose.ParseSignedCompact(r.FormValue("client_assertion"), []jose.SignatureAlgorithm{jose.ES256})
		if err == nil {
			_, err = token.Verify(key.Public())
		}
		if err != nil || token.Signatures[0].Protected.KeyID != "k-1" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"request_uri": "urn:a"}`)
	})
	o := loginOptions{File: write(t, "publicURL: https://a.example\nserver: {store: 'sqlite:/nowhere/login.db', providers: [{id: a, type: oidc, issuer: '"+upstream.URL+
		"', clientID: c, clientKeyFile: "+write(t, string(pem.EncodeToMemory(block)))+", clientKeyID: k-1}]}")}
	made := must.Value(providersOf(must.Value(o.read())(t).Server.Providers, upstream.Client()))(t)
	if to, err := made[0].Begin(t.Context(), flow.LoginRequest{}); err != nil || to != upstream.URL+"?client_id=c&request_uri=urn%3Aa" {
		t.Errorf("%s, %v", to, err)
	}
}

func TestAConfigurationThatIsWrongSaysWhereItIs(t *testing.T) {
	for name, o := range map[string]loginOptions{
		"a file that is missing": {File: "/nowhere/oauth.yaml"},
		"a field that is none":   {File: write(t, "publicURL: https://a.example\nissuer: []\n")},
	} {
		if _, err := o.read(); err == nil || !strings.HasPrefix(err.Error(), "--oauth-config") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := (&loginOptions{}).read(); found != nil || err != nil {
		t.Errorf("without a file: %v, %v", found, err)
	}
}

func TestLoginsInAFileAreForOneIngress(t *testing.T) {
	of := func(store string) string {
		return write(t, `{publicURL: "https://a.example", server: {store: "`+store+`", providers: [{id: a, name: A, type: oidc, issuer: "https://b.example", clientID: c, clientSecretFile: /f}]}}`)
	}
	for name, test := range map[string]struct {
		store, replicas, want string
	}{
		"a file of one":     {"sqlite:/var/lib/logins.db", "1", ""},
		"a file of two":     {"sqlite:/var/lib/logins.db", "2", "sqlite, a file of one ingress, but --replicas is 2"},
		"a database of two": {"postgres:/etc/url", "2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions([]string{"--oauth-config=" + of(test.store), "--replicas=" + test.replicas}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.Login.read()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRootsAreThoseOfTheFileToo(t *testing.T) {
	if roots, err := rootsOf(""); roots != nil || err != nil || clientOf(roots) != nil {
		t.Errorf("without a file: %v, %v", roots, err)
	}
	if _, err := rootsOf(write(t, "no certificate")); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Errorf("a file without certificates: %v", err)
	}
	if _, err := rootsOf("/nowhere/ca.crt"); err == nil {
		t.Error("a file that is missing is taken")
	}
}
