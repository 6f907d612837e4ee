// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// servingCertificate is the keybroker's own certificate, which it issues to
// itself under the names of its Service.
type servingCertificate struct {
	authority *pki.Authority
	names     []string
	random    io.Reader
	now       func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
}

// get returns a certificate that is valid for at least two thirds of its life.
// A handshake that needs a new one makes it, so nothing runs in between.
func (s *servingCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if c := s.current; c != nil && c.Leaf.NotAfter.Sub(now) > pki.Lifetime*2/3 {
		return c, nil
	}
	key, csr, err := pki.NewRequest(s.random)
	if err != nil {
		return nil, err
	}
	chain, err := s.authority.Issue(s.random, csr, pki.ServiceSubject(s.names...), now)
	if err != nil {
		return nil, fmt.Errorf("issue the keybroker's own certificate: %w", err)
	}
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, errors.New("read the keybroker's own certificate: not PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the keybroker's own certificate: %w", err)
	}
	s.current = &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key, Leaf: leaf}
	return s.current, nil
}
