// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, first byte) *pki.Authority {
	t.Helper()
	return must.Value(pki.NewAuthority([32]byte{first}))(t)
}

func parse(t *testing.T, chain []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(chain)
	if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 {
		t.Fatalf("not one PEM certificate: %q", chain)
	}
	return must.Value(x509.ParseCertificate(block.Bytes))(t)
}

func request(t *testing.T) []byte {
	t.Helper()
	_, csr := must.Values(pki.NewRequest(rand.Reader))(t)
	return csr
}

func TestTheAuthorityIsTheSameAtEveryStart(t *testing.T) {
	one, two, other := authority(t, 1), authority(t, 1), authority(t, 2)
	if !bytes.Equal(one.CertificatePEM(), two.CertificatePEM()) {
		t.Error("one master key gives two authorities")
	}
	if bytes.Equal(one.CertificatePEM(), other.CertificatePEM()) {
		t.Error("two master keys give one authority")
	}
	// A vector: another certificate here is one that no running bridge trusts.
	digest := sha256.Sum256(one.CertificatePEM())
	const want = "c91b924fccbdad303fa1012d863478f888f6b245787f896d30dbc119691d8e74"
	if got := hex.EncodeToString(digest[:]); got != want {
		t.Errorf("SHA-256 of the certificate is %s, want %s", got, want)
	}
}

func TestABridgesSessionKeysAreItsOwnAndTheSameAtEveryStart(t *testing.T) {
	keys := func(first byte, uid string) string {
		t.Helper()
		got, err := authority(t, first).SessionKeys(uid)
		if err != nil || len(got) != 1 || len(got[0]) != pki.SessionKeySize {
			t.Fatalf("%d keys, error %v", len(got), err)
		}
		return hex.EncodeToString(got[0])
	}
	// A vector: another key here ends every session of every bridge.
	const want = "321a83e7fc1fd7c0121f525915004a837330a8fbd650f1c06168fab082536ea1"
	if got := keys(1, "uid-alice"); got != want {
		t.Errorf("the key is %s, want %s", got, want)
	}
	if keys(1, "uid-bob") == want || keys(1, "uid-alice-2") == want || keys(2, "uid-alice") == want {
		t.Error("others have the same key")
	}
	for _, uid := range []string{"", "a/b", "../x", strings.Repeat("a", 65)} {
		if got, err := authority(t, 1).SessionKeys(uid); err == nil || got != nil {
			t.Errorf("%q has keys", uid)
		}
	}
}

func TestTheCallerCannotChangeTheAuthoritysCertificate(t *testing.T) {
	a := authority(t, 1)
	a.CertificatePEM()[0] = 'X'
	parse(t, a.CertificatePEM())
}

func TestNothingOfTheRequestButItsKeyIsUsed(t *testing.T) {
	a := authority(t, 1)
	public, private := must.Values(ed25519.GenerateKey(rand.Reader))(t)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:        pkix.Name{CommonName: "ingress"},
		URIs:           []*url.URL{pki.IngressURI()},
		DNSNames:       []string{"example.com"},
		EmailAddresses: []string{"root@example.com"},
		IPAddresses:    []net.IP{net.IPv4(127, 0, 0, 1)},
	}, private)
	if err != nil {
		t.Fatal(err)
	}
	chain := must.Value(a.Issue(rand.Reader, csr, pki.BridgeSubject("uid-1"), now))(t)
	c := parse(t, chain)
	type view struct {
		Subject                      string
		URIs                         []string
		DNS, Emails                  []string
		IPs                          int
		Key                          ed25519.PublicKey
		Usages                       []x509.ExtKeyUsage
		NotBefore, NotAfter          time.Time
		CA                           bool
		SerialBits, AuthorityMatches bool
	}
	got := view{
		Subject: c.Subject.String(), DNS: c.DNSNames, Emails: c.EmailAddresses, IPs: len(c.IPAddresses),
		Key: c.PublicKey.(ed25519.PublicKey), Usages: c.ExtKeyUsage,
		NotBefore: c.NotBefore, NotAfter: c.NotAfter, CA: c.IsCA,
		SerialBits:       c.SerialNumber.BitLen() == 127,
		AuthorityMatches: bytes.Equal(c.AuthorityKeyId, parse(t, a.CertificatePEM()).SubjectKeyId),
	}
	for _, u := range c.URIs {
		got.URIs = append(got.URIs, u.String())
	}
	want := view{
		URIs: []string{"spiffe://hostedbridge.dev/bridge/uid-1"}, Key: public,
		Usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(6 * time.Hour),
		SerialBits: true, AuthorityMatches: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
}

func TestSubjects(t *testing.T) {
	a := authority(t, 1)
	for _, test := range []struct {
		name    string
		subject pki.Subject
		refused bool
	}{
		{"a bridge", pki.BridgeSubject("2f0a7f3e-6a0b-4a4e-9b57-0d9b5a3f7a11"), false},
		{"the ingress", pki.IngressSubject(), false},
		{"the store", pki.StoreSubject(), false},
		{"a bundler", pki.BundlerSubject(), false},
		{"a service", pki.ServiceSubject("hosted-bridge-keybroker.ns.svc"), false},
		{"nobody", pki.Subject{Usage: x509.ExtKeyUsageServerAuth}, true},
		{"both a URI and a DNS name", pki.Subject{URI: pki.IngressURI(), DNSNames: []string{"a"}, Usage: x509.ExtKeyUsageClientAuth}, true},
		{"no usage", pki.Subject{URI: pki.IngressURI()}, true},
		{"a usage that is none of ours", pki.Subject{URI: pki.IngressURI(), Usage: x509.ExtKeyUsageCodeSigning}, true},
		{"a service without a name", pki.ServiceSubject(), true},
		{"a bridge without a UID", pki.BridgeSubject(""), true},
		{"a UID that climbs", pki.BridgeSubject("../ingress"), true},
		{"a UID with a query", pki.BridgeSubject("a?b"), true},
		{"a UID with an escape", pki.BridgeSubject("a%2fb"), true},
		{"a UID with a line end", pki.BridgeSubject("a\n"), true},
		{"a UID that is too long", pki.BridgeSubject(strings.Repeat("a", 65)), true},
		{"another trust domain", pki.Subject{URI: &url.URL{Scheme: "spiffe", Host: "example.com", Path: "/ingress"}, Usage: x509.ExtKeyUsageClientAuth}, true},
		{"another scheme", pki.Subject{URI: &url.URL{Scheme: "https", Host: pki.TrustDomain, Path: "/ingress"}, Usage: x509.ExtKeyUsageClientAuth}, true},
		{"a fragment", pki.Subject{URI: &url.URL{Scheme: "spiffe", Host: pki.TrustDomain, Path: "/ingress", Fragment: "x"}, Usage: x509.ExtKeyUsageClientAuth}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			chain, err := a.Issue(rand.Reader, request(t), test.subject, now)
			if test.refused != (err != nil) {
				t.Fatalf("error %v, want one: %v", err, test.refused)
			}
			if test.refused {
				if chain != nil || errors.Is(err, pki.ErrRequest) {
					t.Errorf("chain %q, error %v: want none, and one that is not the request's", chain, err)
				}
			}
		})
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	a := authority(t, 1)
	other := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	wrongKind := must.Value(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, other))(t)
	good := request(t)
	forged := bytes.Clone(good)
	forged[len(forged)-1] ^= 1
	for _, test := range []struct {
		name string
		csr  []byte
	}{
		{"empty", nil},
		{"not DER", []byte("hello")},
		{"PEM in place of DER", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: good})},
		{"cut off", good[:len(good)-1]},
		{"followed by something", append(bytes.Clone(good), 0)},
		{"signed by another key", forged},
		{"for another kind of key", wrongKind},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := a.Issue(rand.Reader, test.csr, pki.IngressSubject(), now); !errors.Is(err, pki.ErrRequest) {
				t.Errorf("error %v, want ErrRequest", err)
			}
		})
	}
}

func TestWithoutRandomnessThereIsNoKeyAndNoCertificate(t *testing.T) {
	if _, _, err := pki.NewRequest(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a key of too little randomness")
	}
	if _, err := authority(t, 1).Issue(bytes.NewReader(nil), request(t), pki.IngressSubject(), now); err == nil {
		t.Error("a serial of no randomness")
	}
}

func FuzzIssue(f *testing.F) {
	a := must.Value(pki.NewAuthority([32]byte{1}))(f)
	_, csr := must.Values(pki.NewRequest(rand.Reader))(f)
	f.Add(csr)
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, csr []byte) {
		chain, err := a.Issue(rand.Reader, csr, pki.IngressSubject(), now)
		if (err == nil) != (chain != nil) {
			t.Errorf("chain of %d bytes and error %v", len(chain), err)
		}
	})
}
