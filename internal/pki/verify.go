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
	return func(state tls.ConnectionState) error {
		return verify(state, roots, Subject{URI: want, Usage: usage}, now())
	}
}

// VerifyBundleClient returns a function for tls.Config.VerifyConnection as VerifyPeer does,
// for the part of the store that has bundles. It accepts the ingress, bundlers, and all
// bridges, whose certificates are those of servers.
func VerifyBundleClient(roots *x509.CertPool, now func() time.Time) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		name, err := PeerName(state)
		if err != nil {
			return err
		}
		want := Subject{URI: name, Usage: x509.ExtKeyUsageClientAuth}
		switch {
		case IsBridge(name):
			want.Usage = x509.ExtKeyUsageServerAuth
		case name.String() != IngressURI().String() && name.String() != BundlerURI().String():
			return fmt.Errorf("peer %s has nothing to do with bundles", name)
		}
		return verify(state, roots, want, now())
	}
}

// PeerName returns the one URI in the certificate of the peer, which is no proof of it before
// the connection is verified.
func PeerName(state tls.ConnectionState) (*url.URL, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, errors.New("peer has no certificate")
	}
	if names := state.PeerCertificates[0].URIs; len(names) == 1 {
		return names[0], nil
	}
	return nil, errors.New("peer has no single name")
}

// verify says what is wrong with a peer that has to be want.
func verify(state tls.ConnectionState, roots *x509.CertPool, want Subject, now time.Time) error {
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
		CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{want.Usage},
	})
	if err != nil {
		return fmt.Errorf("verify peer: %w", err)
	}
	if name := want.URI.String(); len(leaf.URIs) != 1 || leaf.URIs[0].String() != name {
		return fmt.Errorf("peer is not %s", name)
	}
	return nil
}
