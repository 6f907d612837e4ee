// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// listen serves s on the loopback interface under the name localhost and
// returns its URL.
func listen(t *testing.T, s *Server) string {
	t.Helper()
	s.serving.names = []string{"localhost"}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tls.NewListener(l, s.TLS())) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "https://localhost:" + port
}

// source returns a running source of the pod with that token.
func source(t *testing.T, s *Server, url, token string) *client.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{URL: url, CAPEM: s.authority.CertificatePEM(), TokenFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	source := client.NewSource(c, client.SystemClock{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return source
}

// TestIngressReachesTheBridgeItMeans goes the whole way: tokens for
// certificates, and a connection between the two that hold them.
func TestIngressReachesTheBridgeItMeans(t *testing.T) {
	s, _ := testServer(t, newWorld(), io.Discard)
	url := listen(t, s)
	ingress, alice, bob := source(t, s, url, "token-of-ingress-1"), source(t, s, url, "token-of-alice-pod"), source(t, s, url, "token-of-bob-pod")
	for _, ready := range []*client.Source{ingress, alice, bob} {
		<-ready.FirstReady()
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", alice.ServerTLS(pki.IngressURI()))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("alice")) // Who was refused has gone.
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	for _, test := range []struct {
		name   string
		config *tls.Config
		ok     bool
	}{
		{"the ingress that means alice", ingress.ClientTLS(pki.BridgeURI("uid-alice")), true},
		{"the ingress that means bob", ingress.ClientTLS(pki.BridgeURI("uid-bob")), false},
		{"bob's bridge", bob.ClientTLS(pki.BridgeURI("uid-alice")), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := read(t, l.Addr().String(), test.config)
			if (err == nil && got == "alice") != test.ok {
				t.Errorf("%q, error %v", got, err)
			}
		})
	}
}

func read(t *testing.T, address string, config *tls.Config) (string, error) {
	t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	return string(got), err
}

func TestARefusalReachesTheClientWithItsCode(t *testing.T) {
	w := newWorld()
	delete(w.bridges, key(tenant, "alice"))
	s, _ := testServer(t, w, io.Discard)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-of-alice-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{URL: listen(t, s), CAPEM: s.authority.CertificatePEM(), TokenFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Certificate(t.Context())
	refusal, ok := errors.AsType[*client.Refusal](err)
	if !ok || refusal.Status != http.StatusForbidden || refusal.Code != "bridge_not_current" {
		t.Errorf("error %v", err)
	}
}

func TestTheKeybrokersOwnCertificateIsAlwaysFresh(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	s := &servingCertificate{authority: testAuthority(t, 1), names: []string{"keybroker"}, random: rand.Reader, now: func() time.Time { return now }}
	get := func() *tls.Certificate {
		t.Helper()
		c, err := s.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get()
	if first.Leaf.DNSNames[0] != "keybroker" || first.Leaf.URIs != nil {
		t.Errorf("names %v %v", first.Leaf.DNSNames, first.Leaf.URIs)
	}
	now = now.Add(2*time.Hour - time.Second)
	if get() != first {
		t.Error("made anew before a third of its life is over")
	}
	now = now.Add(time.Second)
	if get() == first {
		t.Error("not made anew after a third of its life")
	}
	s.random = bytes.NewReader(nil)
	now = now.Add(3 * time.Hour)
	if _, err := s.get(nil); err == nil {
		t.Error("made without randomness")
	}
}
