// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// login returns the signing keys at a keybroker that answers by handler.
func login(t *testing.T, handler http.HandlerFunc) *Login {
	t.Helper()
	a := newAuthority(t, 1)
	c, _ := keybroker(t, a, handler, io.Discard)
	return NewLogin(c, peer(t, a, pki.IngressSubject(), time.Now(), clock.System{}))
}

// signed returns a token by a key that nobody need know here, and the set with it.
func signed(t *testing.T, claims string, algorithm jose.SignatureAlgorithm) (token string, private, public jose.JSONWebKey) {
	t.Helper()
	key := must.Value(newAuthority(t, 1).LoginKey(0, 692))(t)
	private = jose.JSONWebKey{Key: key, KeyID: "k", Algorithm: "ES256", Use: "sig"}
	signing := jose.SigningKey{Algorithm: algorithm, Key: private}
	if algorithm == jose.HS256 {
		signing.Key = make([]byte, 32)
	}
	signer := must.Value(jose.NewSigner(signing, nil))(t)
	jws := must.Value(signer.Sign([]byte(claims)))(t)
	token = must.Value(jws.CompactSerialize())(t)
	return token, private, private.Public()
}

// keySet returns the JSON of a set of these keys.
func keySet(t *testing.T, keys ...jose.JSONWebKey) string {
	t.Helper()
	return string(must.Value(json.Marshal(jose.JSONWebKeySet{Keys: keys}))(t))
}

func TestTokensAreSignedByTheIngressesCertificate(t *testing.T) {
	type seen struct {
		Method, Path, Type, Body string
		Authorized               bool
	}
	var requests []seen
	token, _, public := signed(t, `{"sub":"a"}`, jose.ES256)
	l := login(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if len(r.TLS.PeerCertificates) != 1 || r.TLS.PeerCertificates[0].URIs[0].String() != pki.IngressURI().String() {
			t.Error("not the ingress's certificate")
		}
		requests = append(requests, seen{r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body), r.Header["Authorization"] != nil})
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, token)
			return
		}
		_, _ = io.WriteString(w, keySet(t, public))
	})
	if got, err := l.Sign(t.Context(), []byte(`{"sub":"a"}`)); err != nil || got != token {
		t.Errorf("another token, error %v", err)
	}
	got, err := l.Keys(t.Context())
	if err != nil || len(got.Keys) != 1 || got.Keys[0].KeyID != "k" || !got.Keys[0].IsPublic() {
		t.Errorf("%d keys, error %v", len(got.Keys), err)
	}
	want := []seen{{"POST", "/v1/login/sign", "application/json", `{"sub":"a"}`, false}, {"GET", "/v1/login/keys", "", "", false}}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnswersThatAreNoTokenAndNoKeys(t *testing.T) {
	var status int
	var answer string
	l := login(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	calls := map[string]func() error{
		"sign": func() error {
			token, err := l.Sign(t.Context(), []byte("{}"))
			if err != nil && token != "" {
				t.Error("a token beside the error")
			}
			return err
		},
		"keys": func() error {
			set, err := l.Keys(t.Context())
			if err != nil && len(set.Keys) > 0 {
				t.Error("keys beside the error")
			}
			return err
		},
	}
	token, private, public := signed(t, "canary", jose.ES256)
	symmetric, _, _ := signed(t, "canary", jose.HS256)
	nameless, other := public, public
	nameless.KeyID, other.Algorithm = "", "ES384"
	for _, test := range []struct {
		name, call string
		status     int
		answer     string
		refusal    *Refusal
	}{
		{"claims that are refused", "sign", 400, `{"code":"claims_invalid","detail":"canary"}`, &Refusal{400, "claims_invalid", "canary"}},
		{"a keybroker of an earlier version", "keys", 404, `{"code":"not_found","detail":"There is nothing here."}`, &Refusal{404, "not_found", "There is nothing here."}},
		{"a redirect", "sign", 307, "", &Refusal{307, "", ""}},
		{"no token", "sign", 200, "", nil},
		{"a token with status 201", "sign", 201, token, nil},
		{"a token that is cut off", "sign", 200, token[:strings.LastIndex(token, ".")], nil},
		{"a token by a shared key", "sign", 200, symmetric, nil},
		{"a problem with status 200", "sign", 200, `{"code":"canary"}`, nil},
		{"a token without end", "sign", 200, token + strings.Repeat("A", maxAnswer), nil},
		{"no keys", "keys", 200, `{"keys":[]}`, nil},
		{"no set", "keys", 200, `{}`, nil},
		{"nothing", "keys", 204, "", nil},
		{"a set that is cut off", "keys", 200, keySet(t, public)[:40], nil},
		{"a private key", "keys", 200, keySet(t, private), nil},
		{"a private key beside a public one", "keys", 200, keySet(t, public, private), nil},
		{"a key without a name", "keys", 200, keySet(t, nameless), nil},
		{"a key for another algorithm", "keys", 200, keySet(t, other), nil},
		{"a shared key", "keys", 200, `{"keys":[{"kty":"oct","k":"Y2FuYXJ5","alg":"HS256","kid":"k"}]}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, answer = test.status, test.answer
			err := calls[test.call]()
			var refusal *Refusal
			if err == nil || errors.As(err, &refusal) != (test.refusal != nil) || !cmp.Equal(refusal, test.refusal) {
				t.Errorf("error %v, want refusal %+v", err, test.refusal)
			}
			if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), token[:10])) {
				t.Errorf("the error quotes the answer: %v", err)
			}
		})
	}
}

func TestAReplicaThatEndsLosesNoLogin(t *testing.T) {
	token, _, _ := signed(t, "{}", jose.ES256)
	hangUp := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	refuse := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	sign := func(w http.ResponseWriter) { _, _ = io.WriteString(w, token) }
	for _, test := range []struct {
		name     string
		answers  []func(http.ResponseWriter)
		requests int
		ok       bool
	}{
		{"the first hangs up", []func(http.ResponseWriter){hangUp, sign}, 2, true},
		{"two hang up", []func(http.ResponseWriter){hangUp, hangUp, sign}, 2, false},
		{"the first refuses, which is an answer", []func(http.ResponseWriter){refuse, sign}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests := 0
			l := login(t, func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"sub":"a"}` {
					t.Errorf("body %q, error %v", body, err)
				}
				requests++
				test.answers[requests-1](w)
			})
			got, err := l.Sign(t.Context(), []byte(`{"sub":"a"}`))
			if (err == nil) != test.ok || test.ok != (got == token) || requests != test.requests {
				t.Errorf("error %v after %d requests", err, requests)
			}
		})
	}
}

func TestNobodyWaitsForATokenThatNobodyWants(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	requests := 0
	l := login(t, func(http.ResponseWriter, *http.Request) {
		requests++
		cancel()
		panic(http.ErrAbortHandler)
	})
	if _, err := l.Sign(ctx, []byte("{}")); err == nil || requests != 1 {
		t.Errorf("error %v after %d requests", err, requests)
	}
}

func TestClaimsAreSentToTheKeybrokerAlone(t *testing.T) {
	for name, test := range map[string]struct {
		server byte
		source func(t *testing.T) *Source
	}{
		"a keybroker of another authority": {2, func(t *testing.T) *Source {
			return peer(t, newAuthority(t, 1), pki.IngressSubject(), time.Now(), clock.System{})
		}},
		"no certificate yet": {1, func(t *testing.T) *Source {
			return newSource(newAuthority(t, 1), clock.System{}, slog.New(slog.DiscardHandler), nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := keybroker(t, newAuthority(t, test.server), func(http.ResponseWriter, *http.Request) {
				t.Error("the request arrives")
			}, io.Discard)
			token, err := NewLogin(c, test.source(t)).Sign(t.Context(), []byte("canary"))
			if err == nil || token != "" || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestConnectionsForLoginsAreUsedForAMinute(t *testing.T) {
	made := 0
	l := &Login{fresh: func() *http.Client { made++; return &http.Client{Transport: &http.Transport{}} }}
	first := l.client()
	if l.client() != first || made != 1 {
		t.Errorf("%d clients for two requests", made)
	}
	l.until = time.Now().Add(-time.Second)
	if l.client() == first || made != 2 {
		t.Errorf("%d clients, the same after a minute: %v", made, l.client() == first)
	}
	l.Close()
}
