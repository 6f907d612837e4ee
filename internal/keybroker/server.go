// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// maxAtOnce bounds the requests that read the API server at once, and
	// with them the load on it when all bridges start together.
	maxAtOnce = 64
	// answerTimeout is for everything after the body: waiting for a turn and
	// a handful of calls of the API server. Clients wait a little longer.
	answerTimeout = 10 * time.Second
	// readTimeout is for header and body, of at most 64 KiB within a cluster.
	readTimeout = 5 * time.Second
	// maxHeader holds a token, of about 1.5 KiB, many times.
	maxHeader = 16 << 10
	// maxCertificateRequest is many times a request of an Ed25519 key.
	maxCertificateRequest = 8 << 10
)

// Config is the keybroker's own part of the configuration.
type Config struct {
	// Namespace is the installation's own.
	Namespace string
	// ClusterID names the installation in what it seals. Changing it makes
	// everything that was sealed unreadable.
	ClusterID string
}

// Deps are the parts that the keybroker stands on. None may be nil.
type Deps struct {
	Reader   Reader
	Secrets  Secrets
	Ring     *Ring
	Random   io.Reader
	Now      func() time.Time
	Registry *prometheus.Registry
	Log      *slog.Logger
}

// Server answers the keybroker's callers.
type Server struct {
	callers   *identifier
	vault     *vault
	authority *pki.Authority
	serving   *servingCertificate
	random    io.Reader
	now       func() time.Time
	turns     chan struct{}
	metrics   *metrics
	log       *slog.Logger
}

// New returns a server that has not begun to serve.
func New(c Config, d Deps) (*Server, error) {
	if c.Namespace == "" || c.ClusterID == "" {
		return nil, errors.New("keybroker: the namespace or the cluster's id is empty")
	}
	if d.Reader == nil || d.Secrets == nil || d.Ring == nil || d.Random == nil || d.Now == nil || d.Registry == nil || d.Log == nil {
		return nil, errors.New("keybroker: a dependency is missing")
	}
	m, err := newMetrics(d.Registry, d.Ring)
	if err != nil {
		return nil, fmt.Errorf("keybroker: register metrics: %w", err)
	}
	host := "hosted-bridge-keybroker." + c.Namespace + ".svc"
	return &Server{
		callers:   &identifier{cluster: d.Reader, namespace: c.Namespace},
		vault:     &vault{secrets: d.Secrets, keys: d.Ring.envelopes, cluster: c.ClusterID, random: d.Random},
		authority: d.Ring.authority,
		serving:   &servingCertificate{authority: d.Ring.authority, names: []string{host, host + ".cluster.local"}, random: d.Random, now: d.Now},
		random:    d.Random, now: d.Now, turns: make(chan struct{}, maxAtOnce), metrics: m, log: d.Log,
	}, nil
}

// HTTP returns the HTTP server, for a listener that speaks TLS.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + answerTimeout + readTimeout,
		// A caller's next request is hours away.
		IdleTimeout:                  readTimeout,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		// Only pods reach the port: one whose handshake breaks trusts another
		// authority, which somebody should know.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// TLS returns the TLS configuration of the listener. Callers show tokens, not
// certificates: they come to get one.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		Time:           s.now,
		GetCertificate: s.serving.get,
		NextProtos:     []string{"http/1.1"},
	}
}
