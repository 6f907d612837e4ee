// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pkitest makes certificates for tests.
package pkitest

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// Certificate returns a new certificate of the authority for a subject, with
// its key, as the keybroker's client gets one.
func Certificate(t testing.TB, a *pki.Authority, subject pki.Subject) tls.Certificate {
	t.Helper()
	key, csr, err := pki.NewRequest(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := a.Issue(rand.Reader, csr, subject, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
