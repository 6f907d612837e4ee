// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newAuthority(t *testing.T, first byte) *pki.Authority {
	t.Helper()
	return must.Value(pki.NewAuthority([32]byte{first}))(t)
}

// issued returns a certificate as the keybroker would have issued it at now.
func issued(t *testing.T, a *pki.Authority, s pki.Subject, now time.Time) *tls.Certificate {
	t.Helper()
	key, csr := must.Values(pki.NewRequest(rand.Reader))(t)
	chain := must.Value(a.Issue(rand.Reader, csr, s, now))(t)
	block, _ := pem.Decode(chain)
	leaf := must.Value(x509.ParseCertificate(block.Bytes))(t)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key, Leaf: leaf}
}

// newSource returns an empty source that trusts a and asks issue.
func newSource(a *pki.Authority, clock clock.Clock, log *slog.Logger, issue func(context.Context) (*tls.Certificate, error)) *Source {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CertificatePEM())
	return &Source{issue: issue, roots: roots, clock: clock, log: log, first: make(chan struct{}), renewed: make(chan struct{}, 1)}
}
