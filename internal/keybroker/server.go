// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// answerTimeout is for everything after the body: the wait for a turn and a
	// few calls of the API server. Clients wait a little longer.
	answerTimeout = 10 * time.Second
	// readTimeout is for header and body, of at most 64 KiB within a cluster.
	readTimeout = 5 * time.Second
	// maxHeader holds a token, of about 1.5 KiB, many times.
	maxHeader = 16 << 10
	// maxCertificateRequest is many times a request of an Ed25519 key.
	maxCertificateRequest = 8 << 10
	// maxLogin holds an access and a refresh token of 16 KiB each, the most
	// that a bridge accepts, and some more for the other fields.
	maxLogin = 33 << 10
)

// Config is the keybroker's own part of the configuration.
type Config struct {
	// Namespace is the installation's own.
	Namespace string
	// Watched are the namespaces of HostedBridges.
	Watched namespaces.Set
}

// MasterKey holds what is derived from the master key: masterkey.Source.
type MasterKey interface {
	// Keys returns the current keys.
	Keys() *envelope.Keys
	// Authority returns the certificate authority, which stays the same.
	Authority() *pki.Authority
	// LoginGeneration distinguishes the keys that sign access tokens now from
	// earlier ones.
	LoginGeneration() uint32
	// Err says why the current ring is not in use, and is nil if it is.
	Err() error
}

// Deps are what the keybroker depends on. None may be nil.
type Deps struct {
	Reader    Reader
	Store     *secretstore.Store
	MasterKey MasterKey
	Tiers     quota.Tiers
	Random    io.Reader
	Now       func() time.Time
	Registry  *prometheus.Registry
	Log       *slog.Logger
}

// Server answers the keybroker's callers.
type Server struct {
	callers   *identifier
	store     *secretstore.Store
	authority *pki.Authority
	// generation is the generation of the keys that sign access tokens now.
	generation func() uint32
	// roots is the authority that verifies clients; ingress verifies that a
	// client is the ingress.
	roots   *x509.CertPool
	ingress func(tls.ConnectionState) error
	tiers   quota.Tiers
	serving *servingCertificate
	random  io.Reader
	now     func() time.Time
	turns   *fairQueue
	metrics *metrics
	log     *slog.Logger
}

// New returns a server that has not begun to serve.
func New(c Config, d Deps) (*Server, error) {
	if c.Namespace == "" {
		return nil, errors.New("keybroker: the namespace is empty")
	}
	if !d.complete() {
		return nil, errors.New("keybroker: a dependency is missing")
	}
	m, err := newMetrics(d.Registry, d.MasterKey)
	if err != nil {
		return nil, fmt.Errorf("keybroker: register metrics: %w", err)
	}
	authority, roots := d.MasterKey.Authority(), x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertificatePEM())
	host := "hosted-bridge-keybroker." + c.Namespace + ".svc"
	return &Server{
		callers:   &identifier{cluster: d.Reader, namespace: c.Namespace, watched: c.Watched, now: d.Now},
		store:     d.Store,
		authority: authority, generation: d.MasterKey.LoginGeneration,
		roots:   roots,
		ingress: pki.VerifyPeer(roots, pki.IngressURI(), x509.ExtKeyUsageClientAuth, d.Now),
		tiers:   d.Tiers,
		serving: &servingCertificate{authority: authority, names: []string{host, host + ".cluster.local"}, random: d.Random, now: d.Now},
		random:  d.Random, now: d.Now, turns: newFairQueue(), metrics: m, log: d.Log,
	}, nil
}

func (d *Deps) complete() bool {
	return d.Reader != nil && d.Store != nil && d.MasterKey != nil && d.Tiers != nil &&
		d.Random != nil && d.Now != nil && d.Registry != nil && d.Log != nil
}

// SealedFromSources is the metric of values that were sealed from Secrets. The
// sealing controller counts them.
func (s *Server) SealedFromSources() prometheus.Counter {
	return s.metrics.sealed.WithLabelValues(bySource)
}

// HTTP returns the HTTP server, for a listener that speaks TLS.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + answerTimeout + readTimeout,
		// A caller's next request is hours away, except the ingress's for
		// logins.
		IdleTimeout:                  readTimeout,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		// Only pods reach the port: if a handshake fails, the client trusts
		// another authority, and an administrator should know.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// TLS returns the TLS configuration of the listener. A client that requests its
// certificate has none yet; a certificate that a client presents is verified.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		Time:           s.now,
		GetCertificate: s.serving.get,
		ClientAuth:     tls.VerifyClientCertIfGiven,
		ClientCAs:      s.roots,
		NextProtos:     []string{"http/1.1"},
		// A resumed session would rely on an older certificate.
		SessionTicketsDisabled: true,
	}
}
