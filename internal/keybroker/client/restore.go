// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// Export returns the current certificate with its chain, and its private key,
// both in PEM, for a process of the same identity that takes over. It returns
// an error if there is no certificate, or only an expired one.
func (s *Source) Export() (chain, key []byte, err error) {
	c, err := s.certificate()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, errors.New("encode private key")
	}
	for _, certificate := range c.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Restore gives the source the certificate that another source exported, if it
// is valid now: issued by the CA that the source trusts, to the client with
// this URI, and not expired. Call it before Run, which requests a newer one all
// the same.
func (s *Source) Restore(chain, key []byte, uri *url.URL) error {
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		// The cause could quote the key.
		return errors.New("restore certificate: it is invalid, or does not belong to the key")
	}
	if now := s.clock.Now(); now.After(pair.Leaf.NotAfter) {
		return fmt.Errorf("restore certificate: it expired at %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Leaf}}
	for _, der := range pair.Certificate[1:] {
		intermediate, err := x509.ParseCertificate(der)
		if err != nil {
			return errors.New("restore certificate: its chain is invalid")
		}
		state.PeerCertificates = append(state.PeerCertificates, intermediate)
	}
	if err := pki.VerifyPeer(s.roots, uri, x509.ExtKeyUsageClientAuth, s.clock.Now)(state); err != nil {
		return fmt.Errorf("restore certificate: %w", err)
	}
	s.current.Store(&pair)
	s.once.Do(func() { close(s.first) })
	return nil
}
