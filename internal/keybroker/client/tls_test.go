// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// peer returns a source that holds the certificate of s, issued at now.
func peer(t *testing.T, a *pki.Authority, s pki.Subject, now time.Time, clock clock.Clock) *Source {
	t.Helper()
	source := newSource(a, clock, slog.New(slog.DiscardHandler), nil)
	source.current.Store(issued(t, a, s, now))
	return source
}

// exchange has a client say hello to a server on the loopback interface, and
// returns what each made of it.
func exchange(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	l := must.Value((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		conn := tls.Server(raw, server)
		defer conn.Close()
		if err := conn.HandshakeContext(t.Context()); err != nil {
			served <- err
			return
		}
		_, err = conn.Write([]byte("hello"))
		served <- err
	}()
	dialer := &tls.Dialer{Config: client}
	conn, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		return <-served, err
	}
	defer conn.Close()
	// In TLS 1.3 the server's verdict on the client arrives after the
	// client's handshake.
	got, err := io.ReadAll(conn)
	if err == nil && string(got) != "hello" {
		err = errors.New("the answer is cut off")
	}
	return <-served, err
}

func TestIngressAndBridgeKnowEachOther(t *testing.T) {
	a, other := newAuthority(t, 1), newAuthority(t, 2)
	bridge, ingress := pki.BridgeSubject("uid-1"), pki.IngressSubject()
	long := clocktest.Start.Add(-7 * time.Hour)
	type side struct {
		authority *pki.Authority
		subject   pki.Subject
		issued    time.Time
	}
	for _, test := range []struct {
		name             string
		server, client   side
		without          bool // No client certificate.
		serverNo, dialNo bool // Who refuses.
	}{
		{"the right two", side{a, bridge, clocktest.Start}, side{a, ingress, clocktest.Start}, false, false, false},
		{"another bridge where this one should be", side{a, pki.BridgeSubject("uid-2"), clocktest.Start}, side{a, ingress, clocktest.Start}, false, false, true},
		{"the ingress in place of the bridge", side{a, ingress, clocktest.Start}, side{a, ingress, clocktest.Start}, false, false, true},
		{"the keybroker in place of the bridge", side{a, pki.ServiceSubject("uid-1"), clocktest.Start}, side{a, ingress, clocktest.Start}, false, false, true},
		{"a bridge of another installation", side{other, bridge, clocktest.Start}, side{a, ingress, clocktest.Start}, false, false, true},
		{"a bridge as the client", side{a, bridge, clocktest.Start}, side{a, bridge, clocktest.Start}, false, true, false},
		{"another bridge as the client", side{a, bridge, clocktest.Start}, side{a, pki.BridgeSubject("uid-2"), clocktest.Start}, false, true, false},
		{"the ingress of another installation", side{a, bridge, clocktest.Start}, side{other, ingress, clocktest.Start}, false, true, true},
		{"no client certificate", side{a, bridge, clocktest.Start}, side{a, ingress, clocktest.Start}, true, true, false},
		{"a bridge whose certificate has expired", side{a, bridge, long}, side{a, ingress, clocktest.Start}, false, true, false},
		{"an ingress whose certificate has expired", side{a, bridge, clocktest.Start}, side{a, ingress, long}, false, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := clocktest.New(0)
			server := peer(t, test.server.authority, test.server.subject, test.server.issued, clock)
			client := peer(t, test.client.authority, test.client.subject, test.client.issued, clock)
			config := client.ClientTLS(bridge.URI)
			if test.without {
				config.GetClientCertificate = nil
			}
			serverErr, clientErr := exchange(t, server.ServerTLS(ingress.URI), config)
			if ok := serverErr == nil && clientErr == nil; ok != (!test.serverNo && !test.dialNo) {
				t.Fatalf("server %v, client %v", serverErr, clientErr)
			}
			// The one who is refused hears of it as an alert or a broken
			// connection; the one who refuses must know why.
			if test.serverNo && serverErr == nil || test.dialNo && clientErr == nil {
				t.Errorf("server %v, client %v", serverErr, clientErr)
			}
		})
	}
}

// stuck shows the certificate that it has, as somebody would who stole it.
func stuck(s *Source, config *tls.Config) *tls.Config {
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current.Load(), nil }
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.current.Load(), nil }
	return config
}

func TestAnExpiredCertificateIsRefusedAlsoWhenItIsShown(t *testing.T) {
	a, clock := newAuthority(t, 1), clocktest.New(0)
	bridge, ingress := pki.BridgeSubject("uid-1"), pki.IngressSubject()
	fresh := func(s pki.Subject) *Source { return peer(t, a, s, clocktest.Start, clock) }
	expired := func(s pki.Subject) *Source { return peer(t, a, s, clocktest.Start.Add(-7*time.Hour), clock) }
	old := expired(bridge)
	if _, err := exchange(t, stuck(old, old.ServerTLS(ingress.URI)), fresh(ingress).ClientTLS(bridge.URI)); err == nil {
		t.Error("a client takes a server's expired certificate")
	}
	old = expired(ingress)
	if err, _ := exchange(t, fresh(bridge).ServerTLS(ingress.URI), stuck(old, old.ClientTLS(bridge.URI))); err == nil {
		t.Error("a server takes a client's expired certificate")
	}
}

func TestWhoWantsAnotherPeerIsRefused(t *testing.T) {
	a, clock := newAuthority(t, 1), clocktest.New(0)
	server := peer(t, a, pki.BridgeSubject("uid-1"), clocktest.Start, clock).ServerTLS(pki.IngressURI())
	client := peer(t, a, pki.IngressSubject(), clocktest.Start, clock)
	for _, want := range []*url.URL{pki.BridgeURI("uid-2"), pki.BridgeURI("UID-1"), pki.BridgeURI(""), pki.IngressURI()} {
		if _, err := exchange(t, server, client.ClientTLS(want)); err == nil {
			t.Errorf("the bridge uid-1 passes for %s", want)
		}
	}
}

func TestNoHandshakeBeforeTheFirstCertificate(t *testing.T) {
	a, clock := newAuthority(t, 1), clocktest.New(0)
	log := slog.New(slog.DiscardHandler)
	never := func(context.Context) (*tls.Certificate, error) { return nil, errors.New("away") }
	empty := newSource(a, clock, log, never)
	ready := peer(t, a, pki.IngressSubject(), clocktest.Start, clock)
	if serverErr, clientErr := exchange(t, empty.ServerTLS(pki.IngressURI()), ready.ClientTLS(pki.BridgeURI("uid-1"))); serverErr == nil || clientErr == nil {
		t.Errorf("an empty server: server %v, client %v", serverErr, clientErr)
	}
	server := peer(t, a, pki.BridgeSubject("uid-1"), clocktest.Start, clock)
	if _, clientErr := exchange(t, server.ServerTLS(pki.IngressURI()), empty.ClientTLS(pki.BridgeURI("uid-1"))); clientErr == nil {
		t.Error("an empty client gets an answer")
	}
}

func TestARenewedCertificateIsShownFromThenOn(t *testing.T) {
	a, clock := newAuthority(t, 1), clocktest.New(0)
	bridge := peer(t, a, pki.BridgeSubject("uid-1"), clocktest.Start, clock)
	ingress := peer(t, a, pki.IngressSubject(), clocktest.Start, clock)
	server, client := bridge.ServerTLS(pki.IngressURI()), ingress.ClientTLS(pki.BridgeURI("uid-1"))
	clock.Advance(5 * time.Hour)
	bridge.current.Store(issued(t, a, pki.BridgeSubject("uid-1"), clock.Now()))
	ingress.current.Store(issued(t, a, pki.IngressSubject(), clock.Now()))
	clock.Advance(5 * time.Hour)
	if serverErr, clientErr := exchange(t, server, client); serverErr != nil || clientErr != nil {
		t.Errorf("server %v, client %v", serverErr, clientErr)
	}
}
