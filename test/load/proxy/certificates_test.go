// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	// bridgeUID is that of each user's bridge, all of which are the backend.
	bridgeUID = "bridge"
	// serverName is the backend's for those who check a name and not a URI.
	serverName = "bridge"
)

// writeCertificates writes what both ends of the upstream's TLS need into dir:
// ca.pem, and certificate and key of the backend and its clients.
func writeCertificates(t *testing.T, dir string) {
	t.Helper()
	key := newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "benchmark"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := sign(t, ca, ca, key, key)
	writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", der)
	for name, uri := range map[string]*url.URL{"server": pki.BridgeURI(bridgeUID), "client": pki.IngressURI()} {
		own := newKey(t)
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(2), NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			URIs:        []*url.URL{uri}, DNSNames: []string{serverName},
		}
		writePEM(t, filepath.Join(dir, name+".pem"), "CERTIFICATE", sign(t, leaf, ca, own, key))
		pkcs8 := must.Value(x509.MarshalPKCS8PrivateKey(own))(t)
		writePEM(t, filepath.Join(dir, name+"-key.pem"), "PRIVATE KEY", pkcs8)
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func sign(t *testing.T, leaf, ca *x509.Certificate, own, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	return must.Value(x509.CreateCertificate(rand.Reader, leaf, ca, own.Public(), by))(t)
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// loadTLS reads a certificate of writeCertificates and who is trusted.
func loadTLS(dir, name string) (tls.Certificate, *x509.CertPool, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem"))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return certificate, roots, nil
}
