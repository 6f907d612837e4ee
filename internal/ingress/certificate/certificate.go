// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate is the certificate of the public surface, which follows its files.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// certificateEvery is how often the certificate's files are read. The kubelet
// takes about a minute to show a Secret that has changed.
const certificateEvery = 10 * time.Second

// Options say with what the public surface speaks TLS, if at all.
type Options struct{ CertFile, KeyFile string }

// Declare declares the settings.
func (o *Options) Declare(s *setting.Set) {
	s.String(&o.CertFile, "tls-cert-file", "", "certificate of the public surface in PEM, the certificate first and then its issuers; read again when it changes (default: no TLS)")
	s.String(&o.KeyFile, "tls-key-file", "", "private key of --tls-cert-file in PEM")
	s.Check(func() error {
		if (o.CertFile == "") != (o.KeyFile == "") {
			return errors.New("--tls-cert-file: --tls-key-file belongs to it, and one is empty; give both or none")
		}
		return nil
	})
}

// Open returns the certificate, nil where the surface is without TLS.
func (o *Options) Open(log *slog.Logger) (*Certificate, error) {
	if o.CertFile == "" {
		return nil, nil
	}
	c := &Certificate{options: *o, log: log}
	if err := c.read(time.Now()); err != nil {
		return nil, err
	}
	return c, nil
}

// Certificate is the one of the public surface, and follows its files.
type Certificate struct {
	options Options
	log     *slog.Logger
	current atomic.Pointer[loaded]
	failed  atomic.Int64
}

// loaded is what the files held.
type loaded struct {
	pair      tls.Certificate
	cert, key []byte
}

// read takes what the files hold now. While they hold nothing of use, what they
// held before stays.
func (c *Certificate) read(now time.Time) error {
	next := &loaded{}
	var err error
	if next.cert, err = os.ReadFile(c.options.CertFile); err != nil {
		return fmt.Errorf("read --tls-cert-file: %w", err)
	}
	if next.key, err = os.ReadFile(c.options.KeyFile); err != nil {
		return fmt.Errorf("read --tls-key-file: %w", err)
	}
	before := c.current.Load()
	if before != nil && bytes.Equal(next.cert, before.cert) && bytes.Equal(next.key, before.key) {
		return nil
	}
	// Its errors tell of forms and of names of blocks, and nothing of the key.
	if next.pair, err = tls.X509KeyPair(next.cert, next.key); err != nil {
		return fmt.Errorf("use --tls-cert-file %s with --tls-key-file %s: %w", c.options.CertFile, c.options.KeyFile, err)
	}
	c.current.Store(next)
	leaf := next.pair.Leaf
	c.log.Info("serving with the certificate", "names", leaf.DNSNames, "notBefore", leaf.NotBefore, "notAfter", leaf.NotAfter, "first", before == nil)
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		c.log.Warn("the certificate is not valid now: clients will refuse it", "notBefore", leaf.NotBefore, "notAfter", leaf.NotAfter)
	}
	return nil
}

// Run follows the files until ctx ends. Each reason why they cannot be used is
// logged once. Files and not events are what is followed: a mounted Secret is
// replaced by links, and a link may be replaced between two reads.
func (c *Certificate) Run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	ticker := time.NewTicker(certificateEvery)
	defer ticker.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			said = c.follow(ctx, now, said)
		}
	}
}

// follow reads once, and returns why the files cannot be used, if they cannot.
func (c *Certificate) follow(ctx context.Context, now time.Time, said string) string {
	err := c.read(now)
	if err == nil {
		return ""
	}
	c.failed.Add(1)
	if err.Error() != said {
		c.log.ErrorContext(ctx, "the certificate cannot be read again: serving with the one before", "notAfter", c.current.Load().pair.Leaf.NotAfter, "error", err)
	}
	return err.Error()
}

// Register registers the metrics of the certificate.
func (c *Certificate) Register(metrics prometheus.Registerer) error {
	if c == nil {
		return nil
	}
	return telemetry.Register(metrics,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_tls_certificate_expiry_timestamp_seconds",
			Help: "When the certificate ends by which clients recognise the public surface, in seconds since 1970.",
		}, func() float64 { return float64(c.current.Load().pair.Leaf.NotAfter.Unix()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_tls_certificate_read_failures_total",
			Help: "How often the files of the public surface's certificate could not be used, so that the one before went on being served.",
		}, func() float64 { return float64(c.failed.Load()) }))
}

// Protect has server and listener speak TLS, and HTTP/2 only within it. Who
// speaks HTTP nevertheless is told so by net/http.
func (c *Certificate) Protect(server *http.Server, listener net.Listener) net.Listener {
	if c == nil {
		return listener
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	return tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &c.current.Load().pair, nil
		},
	})
}
