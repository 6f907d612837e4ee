// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// ServerTLS returns the configuration of a server that accepts only the client
// with this URI in its certificate. It always presents the newest certificate,
// and fails handshakes while it has no certificate.
func (s *Source) ServerTLS(client *url.URL) *tls.Config {
	return s.serverTLS(pki.VerifyPeer(s.roots, client, x509.ExtKeyUsageClientAuth, s.clock.Now))
}

// BundlesTLS is ServerTLS for all clients of the store's bundles.
func (s *Source) BundlesTLS() *tls.Config {
	return s.serverTLS(pki.VerifyBundleClient(s.roots, s.clock.Now))
}

func (s *Source) serverTLS(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		Time:       s.clock.Now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.certificate()
		},
		// VerifyConnection verifies all there is: chain, time, usage, name.
		ClientAuth:       tls.RequireAnyClientCert,
		VerifyConnection: verify,
		// A resumed session would rely on an older certificate.
		SessionTicketsDisabled: true,
	}
}

// ClientTLS returns the configuration of a client that accepts only the server
// with this URI in its certificate, at any address. It always presents the
// newest certificate, and fails handshakes while it has no certificate.
func (s *Source) ClientTLS(server *url.URL) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		Time:       s.clock.Now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return s.certificate()
		},
		// Pods are dialled by address and named by URI, so the check by host
		// name is replaced: VerifyConnection verifies chain, time, usage, name.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies instead.
		VerifyConnection:   pki.VerifyPeer(s.roots, server, x509.ExtKeyUsageServerAuth, s.clock.Now),
	}
}

// serviceTLS returns the configuration of a client of the keybroker's service,
// which is identified by its DNS name. It presents the newest certificate, and
// fails handshakes while it has no certificate.
func (s *Source) serviceTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		Time:       s.clock.Now,
		RootCAs:    s.roots,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return s.certificate()
		},
	}
}
