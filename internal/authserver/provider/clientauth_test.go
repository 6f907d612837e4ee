// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// The keys of the tests' client.
func rsaKey(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	return must.Value(rsa.GenerateKey(rand.Reader, bits))(t)
}

func curveKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	return must.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
}

func edwardsKey(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(t, err)
	return key
}

// pemOf returns a key as administrators have it.
func pemOf(t *testing.T, key crypto.Signer) string {
	t.Helper()
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must.Value(x509.MarshalPKCS8PrivateKey(key))(t)}))
}

// keyed has the client prove who it is by a key.
func (u *upstream) keyed(t *testing.T, key crypto.Signer) Config {
	t.Helper()
	u.clientKey = key.Public()
	u.discovery["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic", "private_key_jwt"}
	c := u.config()
	c.Secret, c.Key = nil, given(pemOf(t, key))
	return c
}

func TestAClientWithAKeyNeedsNoSecret(t *testing.T) {
	for name, tt := range map[string]struct {
		key        crypto.Signer
		algorithms []string
		kid        string
		want       string
	}{
		"of RSA":                      {rsaKey(t, 2048), nil, "", "RS256"},
		"of RSA where it is not PKCS": {rsaKey(t, 2048), []string{"ES256", "PS256"}, "", "PS256"},
		"of P-256":                    {curveKey(t, elliptic.P256()), []string{"RS256", "ES256"}, "", "ES256"},
		"of Ed25519":                  {edwardsKey(t), []string{"EdDSA"}, "", "EdDSA"},
		"with a name":                 {curveKey(t, elliptic.P256()), nil, "client-2026", "ES256"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			c := u.keyed(t, tt.key)
			c.KeyID, c.Limits.Grace = tt.kid, time.Hour
			if tt.algorithms != nil {
				u.discovery["token_endpoint_auth_signing_alg_values_supported"] = tt.algorithms
			}
			u.refresh, u.next = refreshToken, nextToken
			p := connect(t, c)
			who, err := p.Finish(t.Context(), answer)
			if err != nil || u.style != "key" || u.assertion.Algorithm != tt.want || u.assertion.KeyID != tt.kid {
				t.Fatalf("%v, by %s, %+v", err, u.style, u.assertion)
			}
			u.change(func(u *upstream) { u.refresh = refreshToken })
			if _, err := p.Renew(t.Context(), who); err != nil || len(u.used) != 2 {
				t.Errorf("at a refresh: %v; %d assertions", err, len(u.used))
			}
		})
	}
}

func TestAKeyAndASecretAreUsedAsAnAdministratorSays(t *testing.T) {
	for method, want := range map[string]string{"private_key_jwt": "key", "client_secret_basic": "basic", "client_secret_post": "post"} {
		t.Run(method, func(t *testing.T) {
			u := newUpstream(t)
			c := u.keyed(t, curveKey(t, elliptic.P256()))
			delete(u.discovery, "token_endpoint_auth_methods_supported")
			if c.Secret, c.AuthMethod = given(secret), method; want != "key" {
				u.clientKey = nil
			}
			if _, err := connect(t, c).Finish(t.Context(), answer); err != nil || u.style != want {
				t.Errorf("%s, %v", u.style, err)
			}
		})
	}
}

// An administrator has the error alone to go by.
func TestACredentialThatDoesNotFitTheProviderIsNotSent(t *testing.T) {
	good := curveKey(t, elliptic.P256())
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey(t, 2048).(*rsa.PrivateKey))})
	for name, tt := range map[string]struct {
		key     string
		methods []string
		more    func(u *upstream, c *Config)
		want    string
		early   bool // before a person is sent to the provider
	}{
		"a key where secrets are taken": {pemOf(t, good), []string{"client_secret_basic"}, nil, "does not name private_key_jwt: give this client a secret, or set", true},
		"a key where nothing is said":   {pemOf(t, good), nil, nil, "does not name private_key_jwt", true},
		"a secret where keys are taken": {"", []string{"private_key_jwt"}, func(_ *upstream, c *Config) { c.Key, c.Secret = nil, given(secret) }, "or give this client a key", true},
		"a key of another algorithm": {pemOf(t, good), []string{"private_key_jwt"}, func(u *upstream, _ *Config) {
			u.discovery["token_endpoint_auth_signing_alg_values_supported"] = []string{"RS256"}
		}, "use another key", false},
		"a short key of RSA":        {pemOf(t, rsaKey(t, 1024)), []string{"private_key_jwt"}, nil, "RSA with 2048 bits or more", false},
		"a key of another curve":    {pemOf(t, curveKey(t, elliptic.P384())), []string{"private_key_jwt"}, nil, "P-256", false},
		"a key of another form":     {string(pkcs1), []string{"private_key_jwt"}, nil, "openssl genpkey", false},
		"a key that is a secret":    {secret, []string{"private_key_jwt"}, nil, "BEGIN PRIVATE KEY", false},
		"a key of which a part is":  {"-----BEGIN PRIVATE KEY-----\n" + "Z2VoZWlt" + "\n-----END PRIVATE KEY-----\n", []string{"private_key_jwt"}, nil, "BEGIN PRIVATE KEY", false},
		"a key of a place with one": {pemOf(t, good)[:60], []string{"private_key_jwt"}, nil, "BEGIN PRIVATE KEY", false},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			c := u.keyed(t, good)
			c.Key = given(tt.key)
			if u.discovery["token_endpoint_auth_methods_supported"] = tt.methods; tt.more != nil {
				tt.more(u, &c)
			}
			p := connect(t, c)
			_, began := p.Begin(t.Context(), request)
			_, err := p.Finish(t.Context(), answer)
			if _, setup := errors.AsType[flow.SetupError](err); !setup || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
			if (began != nil) != tt.early || u.count("/token") != 0 {
				t.Errorf("it begins with %v; %d requests for tokens", began, u.count("/token"))
			}
			expectDiscreet(t, err)
			if body := strings.Split(tt.key, "\n"); err != nil && len(body) > 1 && strings.Contains(err.Error(), body[1]) {
				t.Errorf("the error has the key in it: %v", err)
			}
		})
	}
}

func TestAKeyIsReadAtEachLogin(t *testing.T) {
	u := newUpstream(t)
	first, second := curveKey(t, elliptic.P256()), edwardsKey(t)
	file := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(file, []byte(pemOf(t, first)), 0o600))
	c := u.keyed(t, first)
	c.Key = InFile(file)
	p := connect(t, c)
	must.Value(p.Finish(t.Context(), answer))(t)
	must.Succeed(t, os.WriteFile(file, []byte(pemOf(t, second)+"\n"), 0o600))
	u.change(func(u *upstream) { u.clientKey = second.Public() })
	must.Value(p.Finish(t.Context(), answer))(t)
	must.Succeed(t, os.Remove(file))
	if _, err := p.Finish(t.Context(), answer); err == nil || errors.Is(err, flow.ErrLogin) || !strings.Contains(err.Error(), "read client key") {
		t.Errorf("without its file: %v", err)
	}
	if InFile("") != nil {
		t.Error("no file has a content")
	}
}

// RFC 9126. The browser carries nothing of a request that the provider has got.
func TestALoginIsPushedToAProviderThatTakesIt(t *testing.T) {
	for name, change := range map[string]func(u *upstream, c *Config) (style string){
		"with a secret in the header": func(*upstream, *Config) string { return "basic" },
		"with a secret in the body": func(u *upstream, _ *Config) string {
			u.discovery["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
			return "post"
		},
		"with a key": func(u *upstream, c *Config) string {
			*c = u.keyed(t, curveKey(t, elliptic.P256()))
			return "key"
		},
		"of a public client": func(u *upstream, c *Config) string {
			u.secret, c.Secret = "", nil
			return "post"
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.discovery["pushed_authorization_request_endpoint"] = u.URL + "/par"
			u.discovery["authorization_endpoint"] = u.URL + "/authorize?tenant=a"
			c := u.config()
			style := change(u, &c)
			c.Parameters = map[string]string{"acr_values": "two"}
			p := connect(t, c)
			for _, uri := range []string{"urn:ietf:params:oauth:request_uri:1", "urn:ietf:params:oauth:request_uri:2"} { // None is used twice.
				where, q := begun(t, p)
				want := map[string][]string{"tenant": {"a"}, "client_id": {clientID}, "request_uri": {uri}}
				if diff := cmp.Diff(want, map[string][]string(q)); diff != "" || where != u.URL+"/authorize" || u.style != style {
					t.Errorf("by %s, %s: (-want +got)\n%s", u.style, where, diff)
				}
			}
			want := map[string][]string{
				"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {callback}, "state": {"state"}, "nonce": {nonce},
				"scope": {"openid profile"}, "code_challenge": {challenge()}, "code_challenge_method": {"S256"}, "acr_values": {"two"},
			}
			got := map[string][]string(u.pushed[1])
			for _, proof := range []string{"client_secret", "client_assertion", "client_assertion_type"} {
				delete(got, proof)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pushed (-want +got)\n%s", diff)
			}
			if _, err := p.Finish(t.Context(), answer); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestALoginThatCannotBePushedDoesNotBegin(t *testing.T) {
	answers := func(status int, body any) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(status); write(w, body) }
	}
	for name, tt := range map[string]struct {
		push func(w http.ResponseWriter)
		want string // of a refusal
	}{
		"the provider refuses it":      {answers(400, map[string]string{"error": "invalid_scope", "error_description": "no\nscope groups"}), `status 400, error invalid_scope: "noscope groups"`},
		"it repeats our secret":        {answers(401, map[string]string{"error": "invalid_client", "error_description": "not " + secret}), "status 401, error invalid_client"},
		"it repeats the nonce":         {answers(400, map[string]string{"error": "invalid_request", "error_description": "nonce=" + nonce}), "status 400, error invalid_request"},
		"it has words of its own":      {answers(503, secret), "status 503, error unknown"},
		"it leads elsewhere":           {func(w http.ResponseWriter) { w.Header().Set("Location", "/elsewhere"); w.WriteHeader(307) }, "status 307, error unknown"},
		"it answers nothing":           {answers(201, map[string]string{}), ""},
		"it answers no JSON":           {func(w http.ResponseWriter) { w.WriteHeader(201); _, _ = w.Write([]byte(secret)) }, ""},
		"it answers with another form": {answers(201, map[string]any{"request_uri": []string{secret}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.discovery["pushed_authorization_request_endpoint"], u.push = u.URL+"/par", tt.push
			to, err := connect(t, u.config()).Begin(t.Context(), request)
			refused, isRefusal := errors.AsType[*flow.AnswerError](err)
			if to != "" || err == nil || errors.Is(err, flow.ErrLogin) || isRefusal != (tt.want != "") || isRefusal && !strings.HasSuffix(refused.Error(), tt.want) {
				t.Errorf("%s, %v, want %s", to, err, tt.want)
			}
			expectDiscreet(t, err)
		})
	}
	t.Run("it takes it where anybody hears", func(t *testing.T) {
		u := newUpstream(t)
		u.discovery["pushed_authorization_request_endpoint"] = "http://login.example.com/par"
		if to, err := connect(t, u.config()).Begin(t.Context(), request); err == nil {
			t.Errorf("it begins at %s", to)
		}
	})
}
