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
	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// seedOptions say where the catalog's recipes come from.
type seedOptions struct {
	// Place has one of seed.Forms.
	Place string
	// TokenFile opens a git repository; empty for a public one.
	TokenFile string
	// AtStart seeds without being asked to.
	AtStart bool
}

func (o *seedOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Place, "catalog-seed", o.Place, "source of the recipes for POST /admin/seed: "+seed.Forms)
	fs.StringVar(&o.TokenFile, "catalog-seed-token-file", o.TokenFile, "file with the token for a git repository, or user:token, read for each seed (default: none)")
	fs.BoolVar(&o.AtStart, "catalog-seed-at-start", o.AtStart, "also seed when this process starts; all replicas may do so")
}

func (o *seedOptions) validate() error {
	source, err := seed.ParseSource(o.Place, seed.Options{})
	switch {
	case err != nil:
		return fmt.Errorf("--catalog-seed: %w", err)
	case o.TokenFile != "" && !strings.HasPrefix(o.Place, "git:"):
		return errors.New("--catalog-seed-token-file needs a --catalog-seed that is a git repository")
	case o.AtStart && source == nil:
		return errors.New("--catalog-seed-at-start needs a --catalog-seed")
	}
	return nil
}

// open returns the seeder of the catalog, nil where there is no source.
func (o *seedOptions) open(catalog *kubestore.Store, metrics prometheus.Registerer, log *slog.Logger) (*seed.Seeder, error) {
	source, err := seed.ParseSource(o.Place, seed.Options{TokenFile: o.TokenFile, Transport: gitTransport()})
	if err != nil || source == nil {
		return nil, err
	}
	seeder := seed.New(source, catalog, clock.System{}, log)
	return seeder, seeder.Register(metrics)
}

// gitTransport keeps no connection: a seed is a rare event.
func gitTransport() http.RoundTripper {
	const patience = 10 * time.Second
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout:   patience,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: time.Minute, // A server may count its objects first.
		DisableKeepAlives:     true,
		ForceAttemptHTTP2:     true,
	}
}
