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
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// listen serves s on the loopback interface under the name localhost and
// returns its URL.
func listen(t *testing.T, s *Server) string {
	t.Helper()
	s.serving.names = []string{"localhost"}
	l := must.Value((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
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
	_, port := must.Values(net.SplitHostPort(l.Addr().String()))(t)
	return "https://localhost:" + port
}

// newClient returns a client of the pod with that token.
func newClient(t *testing.T, s *Server, url, token string) *client.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(file, []byte(token), 0o600))
	c, err := client.New(client.Config{URL: url, CAPEM: s.authority.CertificatePEM(), TokenFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// source returns a running source of the pod with that token.
func source(t *testing.T, s *Server, url, token string) *client.Source {
	t.Helper()
	source := client.NewSource(newClient(t, s, url, token), clock.System{})
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
	store := source(t, s, url, "token-of-store-1")
	bundler := source(t, s, url, "token-of-bundler-1")
	for _, ready := range []*client.Source{ingress, alice, bob, store, bundler} {
		<-ready.FirstReady()
	}
	ofAlice, ofStore := say(t, "alice", alice.ServerTLS(pki.IngressURI())), say(t, "store", store.ServerTLS(pki.IngressURI()))
	ofBundles := say(t, "bundles", store.BundlesTLS())
	for _, test := range []struct {
		name    string
		address string
		config  *tls.Config
		want    string // empty for no connection
	}{
		{"the ingress that means alice", ofAlice, ingress.ClientTLS(pki.BridgeURI("uid-alice")), "alice"},
		{"the ingress that means bob", ofAlice, ingress.ClientTLS(pki.BridgeURI("uid-bob")), ""},
		{"the ingress that means the store", ofAlice, ingress.ClientTLS(pki.StoreURI()), ""},
		{"bob's bridge", ofAlice, bob.ClientTLS(pki.BridgeURI("uid-alice")), ""},
		{"the store at a bridge", ofAlice, store.ClientTLS(pki.BridgeURI("uid-alice")), ""},
		{"the ingress at the store", ofStore, ingress.ClientTLS(pki.StoreURI()), "store"},
		{"the ingress that means alice, at the store", ofStore, ingress.ClientTLS(pki.BridgeURI("uid-alice")), ""},
		{"a bridge at the store", ofStore, bob.ClientTLS(pki.StoreURI()), ""},
		{"a bundler at the store", ofStore, bundler.ClientTLS(pki.StoreURI()), ""},
		{"a bundler at a bridge", ofAlice, bundler.ClientTLS(pki.BridgeURI("uid-alice")), ""},
		{"a bridge at the bundles", ofBundles, bob.ClientTLS(pki.StoreURI()), "bundles"},
		{"a bundler at the bundles", ofBundles, bundler.ClientTLS(pki.StoreURI()), "bundles"},
		{"the ingress at the bundles", ofBundles, ingress.ClientTLS(pki.StoreURI()), "bundles"},
		{"the store at the bundles", ofBundles, store.ClientTLS(pki.StoreURI()), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := read(t, test.address, test.config)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, error %v", got, err)
			}
		})
	}
}

// say listens until the test ends, says so to whom it accepts, and returns where.
func say(t *testing.T, what string, config *tls.Config) (address string) {
	t.Helper()
	l := must.Value(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(what)) // Who was refused has gone.
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
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

// asPeer returns a running source that holds a certificate of that subject, as
// if the authority had made a mistake or were another one.
func asPeer(t *testing.T, authority *pki.Authority, s *Server, url string, subject pki.Subject) *client.UserSecrets {
	t.Helper()
	issuer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		csr, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		chain, err := authority.Issue(rand.Reader, csr, subject, time.Now())
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(chain)
	}))
	issuer.TLS = s.TLS()
	issuer.StartTLS()
	t.Cleanup(issuer.Close)
	wrong := source(t, s, strings.Replace(issuer.URL, "127.0.0.1", "localhost", 1), "token")
	<-wrong.FirstReady()
	return client.NewUserSecrets(newClient(t, s, url, "token"), wrong)
}

// TestTheIngressChangesAUsersSecrets goes the whole way over TLS, and looks at
// what is refused there.
func TestTheIngressChangesAUsersSecrets(t *testing.T) {
	var log logtest.Log
	s, _ := testServer(t, newWorld(), &log)
	url := listen(t, s)
	ingress := source(t, s, url, "token-of-ingress-1")
	<-ingress.FirstReady()
	users, alice := client.NewUserSecrets(newClient(t, s, url, "token"), ingress), newClient(t, s, url, "token-of-alice-pod")
	ref := client.Ref{Namespace: tenant, Name: "alice", UID: "uid-alice"}
	for _, created := range []bool{true, false} {
		info, got, err := users.Put(t.Context(), ref, "TOKEN", []byte(canary))
		if err != nil || got != created || info.Size != len(canary) || info.KeyVersion != 1 || info.Created.IsZero() {
			t.Fatalf("%+v, created %v, error %v", info, got, err)
		}
	}
	list, err := users.List(t.Context(), ref)
	if err != nil || len(list.Secrets) != 1 || list.Limit == nil || *list.Limit != 5 {
		t.Errorf("%+v, error %v", list, err)
	}
	got, err := alice.Secrets(t.Context(), "")
	if err != nil || string(got.Values["TOKEN"]) != canary || got.Revision != list.Revision || len(got.Unreadable) != 0 {
		t.Errorf("%d secrets, error %v", len(got.Values), err)
	}
	if again, err := alice.Secrets(t.Context(), list.Revision); err != nil || again != nil {
		t.Errorf("the same revision: %v, error %v", again, err)
	}
	if err := users.Delete(t.Context(), ref, "TOKEN"); err != nil {
		t.Error(err)
	}
	err = users.Delete(t.Context(), ref, "TOKEN")
	if refusal, ok := errors.AsType[*client.Refusal](err); !ok || refusal.Status != http.StatusNotFound || refusal.Code != "secret_not_found" || refusal.Detail == "" {
		t.Errorf("error %v", err)
	}
	_, err = users.List(t.Context(), client.Ref{Namespace: tenant, Name: "alice", UID: "uid-earlier"})
	if refusal, ok := errors.AsType[*client.Refusal](err); !ok || refusal.Code != "bridge_not_found" {
		t.Errorf("the wrong uid: error %v", err)
	}

	for name, wrong := range map[string]*client.UserSecrets{
		"a bridge's certificate":             client.NewUserSecrets(newClient(t, s, url, "token"), started(t, s, url, "token-of-alice-pod")),
		"a certificate of another authority": asPeer(t, testAuthority(t, 2), s, url, pki.IngressSubject()),
	} {
		log.Reset()
		_, err := wrong.List(t.Context(), ref)
		if _, answered := errors.AsType[*client.Refusal](err); err == nil || answered {
			t.Errorf("%s: error %v, want a handshake that fails", name, err)
		}
	}
	bare := newClient(t, s, url, "token-of-ingress-1")
	_, _, err = client.NewUserSecrets(bare, client.NewSource(bare, clock.System{})).Put(t.Context(), ref, "TOKEN", []byte(canary))
	if err == nil {
		t.Error("set before there is a certificate")
	}
	if strings.Contains(log.String(), canary) {
		t.Error("a secret is in the log")
	}
}

// started returns a source that has its certificate.
func started(t *testing.T, s *Server, url, token string) *client.Source {
	t.Helper()
	got := source(t, s, url, token)
	<-got.FirstReady()
	return got
}

func TestARefusalReachesTheClientWithItsCode(t *testing.T) {
	w := newWorld()
	delete(w.bridges, key(tenant, "alice"))
	s, _ := testServer(t, w, io.Discard)
	_, err := newClient(t, s, listen(t, s), "token-of-alice-pod").Certificate(t.Context())
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
		return must.Value(s.get(nil))(t)
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
