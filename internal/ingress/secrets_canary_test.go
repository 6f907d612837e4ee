// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// keybroker serves on the loopback interface: it certifies whoever asks as the
// ingress, and answers the rest by handler. It returns the client of a process
// that has its certificate.
func (w *world) keybroker(handler http.HandlerFunc) (*client.UserSecrets, *httptest.Server) {
	w.t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/certificates" {
			handler(rw, r)
			return
		}
		csr, _ := io.ReadAll(r.Body)
		chain, err := w.authority.Issue(rand.Reader, csr, pki.IngressSubject(), time.Now())
		if err != nil {
			w.t.Error(err)
		}
		_, _ = rw.Write(chain)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pkitest.Certificate(w.t, w.authority, pki.ServiceSubject("localhost"))}, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	token := filepath.Join(w.t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	c, err := client.New(client.Config{
		URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), CAPEM: w.authority.CertificatePEM(),
		TokenFile: token, Log: slog.New(slog.NewJSONHandler(w.logs, nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	source := client.NewSource(c, clock.System{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	select {
	case <-source.FirstReady():
	case <-time.After(wait.Limit):
		w.t.Fatalf("no certificate: %s", w.logs.String())
	}
	return client.NewUserSecrets(c, source), server
}

// mishaps are the ways in which a keybroker fails. body is what it was sent.
var mishaps = map[string]func(rw http.ResponseWriter, body []byte){
	"sets it": func(rw http.ResponseWriter, body []byte) {
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(client.SecretInfo{Name: "TOKEN", Size: len(body)})
	},
	"echoes it in a problem": func(rw http.ResponseWriter, body []byte) {
		rw.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(rw).Encode(map[string]string{"code": "salt_missing", "detail": string(body), "title": string(body)})
	},
	"echoes it where there is a code": func(rw http.ResponseWriter, body []byte) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(rw).Encode(map[string]string{"code": "value " + string(body)})
	},
	"echoes it as a page": func(rw http.ResponseWriter, body []byte) {
		rw.WriteHeader(http.StatusInternalServerError)
		_, _ = rw.Write(body)
	},
	"echoes it as success": func(rw http.ResponseWriter, body []byte) {
		_, _ = rw.Write(body)
	},
	"echoes it in what does not decode": func(rw http.ResponseWriter, body []byte) {
		_ = json.NewEncoder(rw).Encode(map[string]string{"name": "TOKEN", "size": string(body)})
	},
	"echoes it as another secret": func(rw http.ResponseWriter, body []byte) {
		_ = json.NewEncoder(rw).Encode(map[string]string{"name": string(body)})
	},
	"leads elsewhere": func(rw http.ResponseWriter, body []byte) {
		rw.Header().Set("Location", "/"+string(body))
		rw.WriteHeader(http.StatusTemporaryRedirect)
	},
	"breaks off": func(http.ResponseWriter, []byte) {
		panic(http.ErrAbortHandler)
	},
	"breaks off within its answer": func(rw http.ResponseWriter, body []byte) {
		rw.Header().Set("Content-Length", "100000")
		_, _ = rw.Write(body)
		panic(http.ErrAbortHandler)
	},
}

func TestAValueIsInNoLogAnswerOrMetric(t *testing.T) {
	value := "canary" + strings.ToLower(rand.Text())
	c, err := canary.New("the value", value)
	if err != nil {
		t.Fatal(err)
	}
	scanner := canary.NewScanner(c)
	w, alice, bob := secretsWorld(t, defaults())
	var mishap atomic.Pointer[func(http.ResponseWriter, []byte)]
	var seen atomic.Int64
	var server *httptest.Server
	w.keeper.UserSecrets, server = w.keybroker(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPut && string(body) == value {
			seen.Add(1)
		}
		// It also echoes what it was sent before.
		(*mishap.Load())(rw, []byte(value))
	})
	answers := 0
	ask := func(name, key string, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		got := w.do(r)
		answers++
		scanner.ScanBytes("answer", name, []byte(got.body))
		for field, values := range got.header {
			scanner.ScanBytes("header", name+" "+field, []byte(strings.Join(values, "\n")))
		}
	}
	for name, f := range mishaps {
		mishap.Store(&f)
		ask(name, alice, w.request("PUT", "/u/alice/secrets/TOKEN", alice, value))
		ask(name+", of a list", alice, w.request("GET", "/u/alice/secrets", alice, ""))
		ask(name+", of one", alice, w.request("GET", "/u/alice/secrets/TOKEN", alice, ""))
		ask(name+", at a removal", alice, w.request("DELETE", "/u/alice/secrets/TOKEN", alice, ""))
	}
	if n := seen.Load(); n != int64(len(mishaps)) {
		t.Errorf("the keybroker was sent the value %d times, want %d: nothing is sent again", n, len(mishaps))
	}
	server.Close()
	ask("without a keybroker", alice, w.request("PUT", "/u/alice/secrets/TOKEN", alice, value))
	ask("of another user", bob, w.request("PUT", "/u/alice/secrets/TOKEN", bob, value))
	ask("with a wrong path", alice, w.request("PUT", "/u/alice/secrets/token", alice, value))
	ask("too large", alice, w.request("PUT", "/u/alice/secrets/TOKEN", alice, value+strings.Repeat("x", management.MaxSecret)))
	ask("with a wrong method", alice, w.request("POST", "/u/alice/secrets/TOKEN", alice, value))
	eventually(t, func() bool { return strings.Count(w.logs.String(), `"msg":"request"`) == answers })
	_, metrics := w.probe("/metrics")
	scanner.ScanBytes("log", "", []byte(w.logs.String()))
	scanner.ScanBytes("metrics", "", []byte(metrics))
	for _, found := range scanner.Findings() {
		t.Error(found)
	}
	for _, kind := range []string{"answer", "header", "log", "metrics"} {
		if scanner.Scanned()[kind] < 1000 {
			t.Errorf("%d bytes of %s were searched", scanner.Scanned()[kind], kind)
		}
	}
}
