// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dials counts the connections that a bridge has seen.
type dials struct {
	mu   sync.Mutex
	from []string
}

func (d *dials) saw(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.from, r.RemoteAddr) {
		d.from = append(d.from, r.RemoteAddr)
	}
}

func (d *dials) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.from)
}

// bridge is one that listens, and the way to it.
type bridge struct {
	authority *pki.Authority
	roots     *x509.CertPool
	own       tls.Certificate
	client    *Client
	backend   route.Backend
}

// serve has a bridge of that UID listen until the test ends.
func serve(t *testing.T, uid string, handler http.HandlerFunc) *bridge {
	t.Helper()
	authority, err := pki.NewAuthority([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{authority: authority, roots: x509.NewCertPool(), own: pkitest.Certificate(t, authority, pki.IngressSubject())}
	b.roots.AppendCertsFromPEM(authority.CertificatePEM())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: wait.Limit, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	proved := tls.NewListener(l, &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.BridgeSubject(uid))},
		ClientAuth:   tls.RequireAnyClientCert, ClientCAs: b.roots,
		VerifyConnection: pki.VerifyPeer(b.roots, pki.IngressURI(), x509.ExtKeyUsageClientAuth, time.Now),
	})
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(proved) }()
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	b.client = New(b, n)
	b.backend = route.Backend{BridgeUID: types.UID(uid), PodUID: types.UID(uid + "-1"), PodIP: host}
	t.Cleanup(func() { b.client.Close(); _ = server.Close(); <-done })
	return b
}

// ClientTLS implements Credentials.
func (b *bridge) ClientTLS(server *url.URL) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{b.own},
		InsecureSkipVerify: true, // VerifyConnection checks the chain and the URI.
		VerifyConnection:   pki.VerifyPeer(b.roots, server, x509.ExtKeyUsageServerAuth, time.Now),
	}
}

// call calls the bridge and reads its answer to the end.
func (b *bridge) call(t *testing.T) {
	t.Helper()
	res, err := b.client.Send(t.Context(), b.backend, h1.Request{Head: &Request{Method: "POST", Path: "/u/alice/mcp", Host: b.client.Address(b.backend)}, Length: true, Body: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}
