// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// seedOptions say where the catalog's recipes come from.
type seedOptions struct {
	// Place has one of seed.Forms.
	Place string
	// TokenFile opens an archive; empty for a public one.
	TokenFile string
	// AtStart seeds without being asked to.
	AtStart bool
}

func (o *seedOptions) declare(s *setting.Set) {
	s.String(&o.Place, "catalog-seed", seed.None, "source of the recipes for POST /admin/seed: "+seed.Forms)
	s.String(&o.TokenFile, "catalog-seed-token-file", "", "file with the token for an archive, or user:token, read for each seed (default: none)")
	s.Bool(&o.AtStart, "catalog-seed-at-start", false, "also seed when this process starts; all replicas may do so")
	s.Check(o.validate)
}

func (o *seedOptions) validate() error {
	source, err := seed.ParseSource(o.Place, seed.Options{})
	switch {
	case err != nil:
		return fmt.Errorf("--catalog-seed: %w", err)
	case o.TokenFile != "" && !strings.HasPrefix(o.Place, "archive:"):
		return errors.New("--catalog-seed-token-file: --catalog-seed is not an archive; give archive:URL there")
	case o.AtStart && source == nil:
		return errors.New("--catalog-seed-at-start: there is no source; give --catalog-seed too")
	}
	return nil
}

// open returns the seeder of the catalog, nil where there is no source.
func (o *seedOptions) open(catalog *recipestore.Store, metrics prometheus.Registerer, log *slog.Logger) (*seed.Seeder, error) {
	source, err := seed.ParseSource(o.Place, seed.Options{TokenFile: o.TokenFile, Transport: archiveTransport()})
	if err != nil || source == nil {
		return nil, err
	}
	seeder := seed.New(source, catalog, clock.System{}, log)
	return seeder, seeder.Register(metrics)
}

// archiveTransport keeps no connection: a seed is a rare event.
func archiveTransport() http.RoundTripper {
	const patience = 10 * time.Second
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout:   patience,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: time.Minute, // A server may pack the archive first.
		DisableKeepAlives:     true,
		ForceAttemptHTTP2:     true,
	}
}
