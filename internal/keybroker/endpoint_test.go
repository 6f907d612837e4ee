// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	listPath = "/v1/bridges/" + tenant + "/alice/uid-alice/secrets"
	setPath  = listPath + "/TOKEN"
	// ingressCertificate stands for a token where the ingress shows its
	// certificate.
	ingressCertificate = "certificate of the ingress"
)

// shown returns a connection whose client shows a certificate of that authority
// and subject.
func shown(t testing.TB, authority *pki.Authority, subject pki.Subject) *tls.ConnectionState {
	t.Helper()
	chain := must.Value(authority.Issue(rand.Reader, request(t), subject, time.Now()))(t)
	block, _ := pem.Decode(chain)
	leaf := must.Value(x509.ParseCertificate(block.Bytes))(t)
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
}

// ask sends one request to the handler.
func ask(t testing.TB, h http.Handler, method, path, token, mediaType string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	switch token {
	case "":
	case ingressCertificate:
		r.TLS = shown(t, testAuthority(t, 1), pki.IngressSubject())
	default:
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func request(t testing.TB) []byte {
	t.Helper()
	_, csr := must.Values(pki.NewRequest(rand.Reader))(t)
	return csr
}

func TestRefusals(t *testing.T) {
	const csrType = "application/pkcs10"
	alice, ingress, certificate := "token-of-alice-pod", "token-of-ingress-1", ingressCertificate
	csr := request(t)
	for _, test := range []struct {
		name, method, path, token, mediaType string
		body                                 []byte
		want                                 *httpapi.Problem
	}{
		{"no token", "POST", "/v1/certificates", "", csrType, csr, errTokenMissing},
		{"a token of two words", "POST", "/v1/certificates", "a b", csrType, csr, errTokenMissing},
		{"a forged token", "POST", "/v1/certificates", "forged", csrType, csr, errTokenRefused},
		{"a certificate by GET", "GET", "/v1/certificates", alice, csrType, csr, errMethod},
		{"a request of another type", "POST", "/v1/certificates", alice, "application/json", csr, errMediaType},
		{"a request without type", "POST", "/v1/certificates", alice, "", csr, errMediaType},
		{"a request that is too large", "POST", "/v1/certificates", alice, csrType, make([]byte, maxCertificateRequest+1), errBodyTooLarge},
		{"a request that is none", "POST", "/v1/certificates", alice, csrType, make([]byte, maxCertificateRequest), errRequest},
		{"an empty request", "POST", "/v1/certificates", ingress, csrType, nil, errRequest},
		{"secrets for the ingress", "GET", "/v1/secrets", ingress, "", nil, errCaller},
		{"secrets by POST", "POST", "/v1/secrets", alice, "", nil, errMethod},
		{"secrets with a body", "GET", "/v1/secrets", alice, "", []byte("x"), errBodyTooLarge},
		{"setting by a token, even the ingress's", "PUT", setPath, ingress, "", []byte("x"), errCertificateMissing},
		{"setting by a bridge's token, even its own", "PUT", setPath, alice, "", []byte("x"), errCertificateMissing},
		{"setting without anything", "PUT", setPath, "", "", []byte("x"), errCertificateMissing},
		{"listing without anything", "GET", listPath, "", "", nil, errCertificateMissing},
		{"removing without anything", "DELETE", setPath, "", "", nil, errCertificateMissing},
		{"a certificate for a certificate", "POST", "/v1/certificates", certificate, csrType, csr, errTokenMissing},
		{"a certificate for secrets", "GET", "/v1/secrets", certificate, "", nil, errTokenMissing},
		{"setting too much", "PUT", setPath, certificate, "", make([]byte, 64<<10+1), errBodyTooLarge},
		{"a removal with a body", "DELETE", setPath, certificate, "", []byte("x"), errBodyTooLarge},
		{"setting for nobody", "PUT", "/v1/bridges/" + tenant + "/carol/uid-carol/secrets/TOKEN", certificate, "", []byte("x"), errBridgeNotFound},
		{"setting for alice of another namespace", "PUT", "/v1/bridges/other/alice/uid-alice/secrets/TOKEN", certificate, "", []byte("x"), errBridgeNotFound},
		{"setting for another alice", "PUT", "/v1/bridges/" + tenant + "/alice/uid-earlier/secrets/TOKEN", certificate, "", []byte("x"), errBridgeNotFound},
		{"listing for another alice", "GET", "/v1/bridges/" + tenant + "/alice/uid-bob/secrets", certificate, "", nil, errBridgeNotFound},
		{"removing for another alice", "DELETE", "/v1/bridges/" + tenant + "/alice/uid-bob/secrets/TOKEN", certificate, "", nil, errBridgeNotFound},
		{"removing what is not there", "DELETE", setPath, certificate, "", nil, errSecretNotFound},
		{"a secret with a bad name", "PUT", listPath + "/a%2fb", certificate, "", []byte("x"), errName},
		{"a secret in lower case", "PUT", listPath + "/token", certificate, "", []byte("x"), errName},
		{"the index as a secret", "PUT", listPath + "/.index", certificate, "", []byte("x"), errName},
		{"the index as a secret to remove", "DELETE", listPath + "/.index", certificate, "", nil, errName},
		{"a bridge with a bad name", "PUT", "/v1/bridges/" + tenant + "/Alice/uid-alice/secrets/TOKEN", certificate, "", []byte("x"), errName},
		{"a namespace with a bad name", "PUT", "/v1/bridges/a.b/alice/uid-alice/secrets/TOKEN", certificate, "", []byte("x"), errName},
		{"setting by POST", "POST", setPath, certificate, "", []byte("x"), errMethod},
		{"listing by PUT", "PUT", listPath, certificate, "", []byte("x"), errMethod},
		{"keys of logins by a token, even the ingress's", "GET", "/v1/login/keys", ingress, "", nil, errCertificateMissing},
		{"keys of logins without anything", "GET", "/v1/login/keys", "", "", nil, errCertificateMissing},
		{"keys of logins by POST", "POST", "/v1/login/keys", certificate, "", nil, errMethod},
		{"keys of logins with a body", "GET", "/v1/login/keys", certificate, "", []byte("x"), errBodyTooLarge},
		{"signing by a token, even the ingress's", "POST", "/v1/login/sign", ingress, "application/json", loginClaims("a"), errCertificateMissing},
		{"signing by a bridge's token", "POST", "/v1/login/sign", alice, "application/json", loginClaims("a"), errCertificateMissing},
		{"signing without anything", "POST", "/v1/login/sign", "", "application/json", loginClaims("a"), errCertificateMissing},
		{"signing by GET", "GET", "/v1/login/sign", certificate, "application/json", loginClaims("a"), errMethod},
		{"claims of another type", "POST", "/v1/login/sign", certificate, "application/x-www-form-urlencoded", loginClaims("a"), errMediaType},
		{"claims that are none", "POST", "/v1/login/sign", certificate, "application/json", []byte("{}"), errClaims},
		{"claims that are too large", "POST", "/v1/login/sign", certificate, "application/json", loginClaims(strings.Repeat("a", 8<<10)), errBodyTooLarge},
		{"somewhere else among logins", "GET", "/v1/login", certificate, "", nil, errNotFound},
		{"somewhere else", "GET", "/v1/keys", alice, "", nil, errNotFound},
		{"the root", "GET", "/", "", "", nil, errNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			s, _ := testServer(t, newWorld(), &log)
			w := ask(t, s.handler(), test.method, test.path, test.token, test.mediaType, test.body)
			var body struct {
				Status int    `json:"status"`
				Code   string `json:"code"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("body %q: %v", w.Body, err)
			}
			if w.Code != test.want.Status || body.Status != w.Code || body.Code != test.want.Code {
				t.Errorf("%d %+v, want %d %s", w.Code, body, test.want.Status, test.want.Code)
			}
			h := w.Header()
			if h.Get("Content-Type") != "application/problem+json" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("header %v", h)
			}
			if (w.Code == http.StatusUnauthorized) != (h.Get("WWW-Authenticate") != "") || (w.Code == http.StatusMethodNotAllowed) != (h.Get("Allow") != "") {
				t.Errorf("header %v", h)
			}
			if test.token != "" && strings.Contains(log.String(), test.token) {
				t.Errorf("the token is in the log: %s", log.String())
			}
		})
	}
}

func TestTwoAuthorizationsAreNone(t *testing.T) {
	s, _ := testServer(t, newWorld(), io.Discard)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/secrets", http.NoBody)
	r.Header["Authorization"] = []string{"Bearer token-of-alice-pod", "Bearer token-of-bob-pod"}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
}

// requests returns the request counters by "route code reason".
func requests(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families := must.Value(registry.Gather())(t)
	counters := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "hostedbridge_keybroker_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			counters[labels["route"]+" "+labels["code"]+" "+labels["reason"]] = m.GetCounter().GetValue()
		}
	}
	return counters
}

// slowReader does not answer before the caller has left.
type slowReader struct {
	*world
	asked chan struct{}
}

func (s *slowReader) Bridge(ctx context.Context, _, _ string) (*effective.Bridge, error) {
	close(s.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestACallerThatLeavesEndsWhatWasDoneForIt(t *testing.T) {
	s, registry := testServer(t, newWorld(), io.Discard)
	slow := &slowReader{newWorld(), make(chan struct{})}
	s.callers.cluster = slow
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/secrets", http.NoBody)
	r.Header.Set("Authorization", "Bearer token-of-alice-pod")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handler().ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-slow.asked
	leave()
	<-done
	if diff := cmp.Diff(map[string]float64{"secrets 499 canceled": 1}, requests(t, registry)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(s.turns.all) != 0 || len(s.turns.callers) != 0 {
		t.Error("a turn is still taken")
	}
}

func TestAServerWithAPartMissingIsNotMade(t *testing.T) {
	full := func() (Config, Deps) {
		w := newWorld()
		return Config{Namespace: system}, testDeps(t, w, w, io.Discard)
	}
	for name, remove := range map[string]func(*Config, *Deps){
		"namespace":  func(c *Config, _ *Deps) { c.Namespace = "" },
		"reader":     func(_ *Config, d *Deps) { d.Reader = nil },
		"store":      func(_ *Config, d *Deps) { d.Store = nil },
		"master key": func(_ *Config, d *Deps) { d.MasterKey = nil },
		"tiers":      func(_ *Config, d *Deps) { d.Tiers = nil },
		"log":        func(_ *Config, d *Deps) { d.Log = nil },
		"registry of its own, free": func(c *Config, d *Deps) {
			if _, err := New(*c, *d); err != nil {
				t.Error(err)
			}
		},
	} {
		c, d := full()
		remove(&c, &d)
		if _, err := New(c, d); err == nil {
			t.Errorf("made without %s", name)
		}
	}
}
