// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// issue returns the certificate that a issues for s.
func issue(t *testing.T, a *pki.Authority, s pki.Subject) *x509.Certificate {
	t.Helper()
	chain := must.Value(a.Issue(rand.Reader, request(t), s, now))(t)
	return parse(t, chain)
}

// foreign returns an authority that, unlike ours, signs anything.
func foreign(t *testing.T, leaf *x509.Certificate) (root, signed *x509.Certificate) {
	t.Helper()
	public, private := must.Values(ed25519.GenerateKey(rand.Reader))(t)
	parent := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, SubjectKeyId: []byte{1}}
	sign := func(template *x509.Certificate) *x509.Certificate {
		der := must.Value(x509.CreateCertificate(rand.Reader, template, parent, public, private))(t)
		return must.Value(x509.ParseCertificate(der))(t)
	}
	leaf.SerialNumber, leaf.NotBefore, leaf.NotAfter = big.NewInt(2), now.Add(-time.Minute), now.Add(time.Minute)
	return sign(parent), sign(leaf)
}

func TestVerifyPeer(t *testing.T) {
	a := authority(t, 1)
	roots := x509.NewCertPool()
	roots.AddCert(parse(t, a.CertificatePEM()))
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	want := pki.BridgeURI("uid-1")
	bridge := issue(t, a, pki.BridgeSubject("uid-1"))
	foreignRoots := x509.NewCertPool()
	names := func(uris ...*url.URL) *x509.Certificate {
		root, signed := foreign(t, &x509.Certificate{URIs: uris, ExtKeyUsage: []x509.ExtKeyUsage{server}})
		foreignRoots.AddCert(root)
		return signed
	}

	for _, test := range []struct {
		name    string
		roots   *x509.CertPool
		usage   x509.ExtKeyUsage
		at      time.Duration
		peer    []*x509.Certificate
		refused bool
	}{
		{"the bridge itself", roots, server, 0, []*x509.Certificate{bridge}, false},
		{"on its last second", roots, server, 6 * time.Hour, []*x509.Certificate{bridge}, false},
		{"a second after", roots, server, 6*time.Hour + time.Second, []*x509.Certificate{bridge}, true},
		{"by a clock 5 minutes behind", roots, server, -5 * time.Minute, []*x509.Certificate{bridge}, false},
		{"by a clock further behind", roots, server, -5*time.Minute - time.Second, []*x509.Certificate{bridge}, true},
		{"nobody", roots, server, 0, nil, true},
		{"another bridge", roots, server, 0, []*x509.Certificate{issue(t, a, pki.BridgeSubject("uid-2"))}, true},
		{"another bridge that brings the right certificate along", roots, server, 0, []*x509.Certificate{issue(t, a, pki.BridgeSubject("uid-2")), bridge}, true},
		{"a UID that begins the same", roots, server, 0, []*x509.Certificate{issue(t, a, pki.BridgeSubject("uid-11"))}, true},
		{"a service without a URI", roots, server, 0, []*x509.Certificate{issue(t, a, pki.ServiceSubject("uid-1"))}, true},
		{"the bridge as a client", roots, client, 0, []*x509.Certificate{bridge}, true},
		{"the right name from another authority", roots, server, 0, []*x509.Certificate{issue(t, authority(t, 2), pki.BridgeSubject("uid-1"))}, true},
		{"the authority itself", roots, server, 0, []*x509.Certificate{parse(t, a.CertificatePEM())}, true},
		{"one name, the right one", foreignRoots, server, 0, []*x509.Certificate{names(want)}, false},
		{"two names, one of them right", foreignRoots, server, 0, []*x509.Certificate{names(want, pki.IngressURI())}, true},
		{"the right name twice", foreignRoots, server, 0, []*x509.Certificate{names(want, want)}, true},
		{"no roots, where the system's must not stand in", nil, server, 0, []*x509.Certificate{bridge}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			verify := pki.VerifyPeer(test.roots, want, test.usage, func() time.Time { return now.Add(test.at) })
			if err := verify(tls.ConnectionState{PeerCertificates: test.peer}); test.refused != (err != nil) {
				t.Errorf("error %v, want one: %v", err, test.refused)
			}
		})
	}
}
