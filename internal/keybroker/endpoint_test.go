// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const sealPath = "/v1/bridges/" + tenant + "/alice/secrets/TOKEN"

// ask sends one request to the handler.
func ask(t *testing.T, h http.Handler, method, path, token, mediaType string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func request(t *testing.T) []byte {
	t.Helper()
	_, csr, err := pki.NewRequest(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

func TestRefusals(t *testing.T) {
	const csrType = "application/pkcs10"
	alice, ingress := "token-of-alice-pod", "token-of-ingress-1"
	csr := request(t)
	for _, test := range []struct {
		name, method, path, token, mediaType string
		body                                 []byte
		want                                 *problem
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
		{"sealing by a bridge, even its own", "PUT", sealPath, alice, "", []byte("x"), errCaller},
		{"sealing without a token", "PUT", sealPath, "", "", []byte("x"), errTokenMissing},
		{"sealing too much", "PUT", sealPath, ingress, "", make([]byte, 64<<10+1), errBodyTooLarge},
		{"sealing for nobody", "PUT", "/v1/bridges/" + tenant + "/carol/secrets/TOKEN", ingress, "", []byte("x"), errBridgeNotFound},
		{"sealing for alice of another namespace", "PUT", "/v1/bridges/other/alice/secrets/TOKEN", ingress, "", []byte("x"), errBridgeNotFound},
		{"a secret with a bad name", "PUT", "/v1/bridges/" + tenant + "/alice/secrets/a%2fb", ingress, "", []byte("x"), errName},
		{"a secret with a name of dots", "PUT", "/v1/bridges/" + tenant + "/alice/secrets/..data", ingress, "", []byte("x"), errName},
		{"a bridge with a bad name", "PUT", "/v1/bridges/" + tenant + "/Alice/secrets/TOKEN", ingress, "", []byte("x"), errName},
		{"a namespace with a bad name", "PUT", "/v1/bridges/a.b/alice/secrets/TOKEN", ingress, "", []byte("x"), errName},
		{"sealing by POST", "POST", sealPath, ingress, "", []byte("x"), errMethod},
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
			if w.Code != test.want.status || body.Status != w.Code || body.Code != test.want.code {
				t.Errorf("%d %+v, want %d %s", w.Code, body, test.want.status, test.want.code)
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

func TestASecretGoesFromTheIngressToItsBridgeAndNowhereElse(t *testing.T) {
	var log bytes.Buffer
	s, registry := testServer(t, newWorld(), &log)
	h := s.handler()
	if w := ask(t, h, "PUT", sealPath, "token-of-ingress-1", "", []byte(canary)); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Fatalf("seal: %d %s", w.Code, w.Body)
	}
	secrets := func(token string) map[string][]byte {
		w := ask(t, h, "GET", "/v1/secrets", token, "", nil)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("open: %d %v", w.Code, w.Header())
		}
		var body struct {
			Secrets map[string][]byte `json:"secrets"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Secrets == nil {
			t.Fatalf("open: %v", err)
		}
		return body.Secrets
	}
	if diff := cmp.Diff(map[string][]byte{"TOKEN": []byte(canary)}, secrets("token-of-alice-pod")); diff != "" {
		t.Errorf("alice's (-want +got):\n%s", diff)
	}
	if got := secrets("token-of-bob-pod"); len(got) != 0 {
		t.Errorf("bob's: %d secrets", len(got))
	}
	if strings.Contains(log.String(), canary) || strings.Contains(log.String(), "token-of") {
		t.Error("a secret is in the log")
	}
	want := map[string]float64{"secrets 200 ": 2, "seal 204 ": 1}
	if diff := cmp.Diff(want, requests(t, registry)); diff != "" {
		t.Errorf("hostedbridge_keybroker_requests_total (-want +got):\n%s", diff)
	}
}

// requests returns the request counters by "route code reason".
func requests(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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

func (s *slowReader) Bridge(ctx context.Context, _, _ string) (*metav1.PartialObjectMetadata, error) {
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
	if len(s.turns) != 0 {
		t.Error("a turn is still taken")
	}
}

func TestNobodyWaitsForATurnForEver(t *testing.T) {
	s, _ := testServer(t, newWorld(), io.Discard)
	for range maxAtOnce {
		s.turns <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/secrets", http.NoBody)
	r.Header.Set("Authorization", "Bearer token-of-alice-pod")
	e := &endpoint{route{name: "secrets", method: http.MethodGet, answer: s.openSecrets}, s}
	if _, err := e.handle(ctx, httptest.NewRecorder(), &call{request: r}); !errors.Is(err, errBusy) {
		t.Errorf("error %v, want %v", err, errBusy)
	}
}

func TestAServerWithAPartMissingIsNotMade(t *testing.T) {
	full := func() (Config, Deps) {
		s, registry := testServer(t, newWorld(), io.Discard)
		return Config{Namespace: system, ClusterID: "test"}, Deps{
			Reader: s.callers.cluster, Secrets: s.vault.secrets, Ring: testRing(t, 1), Random: rand.Reader,
			Now: time.Now, Registry: registry, Log: slog.New(slog.DiscardHandler),
		}
	}
	for name, remove := range map[string]func(*Config, *Deps){
		"namespace":                 func(c *Config, _ *Deps) { c.Namespace = "" },
		"cluster id":                func(c *Config, _ *Deps) { c.ClusterID = "" },
		"reader":                    func(_ *Config, d *Deps) { d.Reader = nil },
		"ring":                      func(_ *Config, d *Deps) { d.Ring = nil },
		"log":                       func(_ *Config, d *Deps) { d.Log = nil },
		"registry of its own, free": func(*Config, *Deps) {},
	} {
		c, d := full()
		remove(&c, &d)
		if _, err := New(c, d); err == nil {
			t.Errorf("made without %s", name)
		}
	}
}
