// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// VerifyPeer returns a function for tls.Config.VerifyConnection that accepts a
// peer only if its certificate is from roots, valid now, for usage, and names
// exactly one URI, which is want. It verifies everything by itself and so is
// safe under InsecureSkipVerify, which is needed when the peer's name is not a
// host.
func VerifyPeer(roots *x509.CertPool, want *url.URL, usage x509.ExtKeyUsage, now func() time.Time) func(tls.ConnectionState) error {
	name := want.String()
	return func(state tls.ConnectionState) error {
		if roots == nil {
			return errors.New("no roots to verify the peer by") // Verify would take the system's.
		}
		if len(state.PeerCertificates) == 0 {
			return errors.New("peer has no certificate")
		}
		leaf := state.PeerCertificates[0]
		intermediates := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			intermediates.AddCert(c)
		}
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: intermediates,
			CurrentTime: now(), KeyUsages: []x509.ExtKeyUsage{usage},
		})
		if err != nil {
			return fmt.Errorf("verify peer: %w", err)
		}
		if len(leaf.URIs) != 1 || leaf.URIs[0].String() != name {
			return fmt.Errorf("peer is not %s", name)
		}
		return nil
	}
}
