// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota/store"
)

// quotaPassword is the environment's variable with the store's password.
const quotaPassword = "QUOTA_REDIS_PASSWORD"

// quotaOptions say what users may and where it is counted.
type quotaOptions struct {
	// TiersFile replaces the built-in tiers; empty keeps them.
	TiersFile string
	// Replicas is how many ingresses share the quotas, as far as no store tells.
	Replicas int
	// StoreURL is that of the installation's own store, and RedisURL that of a
	// Redis. Both empty: each replica counts for itself.
	StoreURL string
	RedisURL string
	// PasswordFile and CAFile belong to the Redis.
	PasswordFile string
	CAFile       string
}

func (o *quotaOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.TiersFile, "tiers-file", o.TiersFile, "YAML file with the installation's tiers, read again when it changes; the default tiers are free, pro and business")
	fs.IntVar(&o.Replicas, "replicas", o.Replicas, "how many ingresses share each quota without --quota-store-url and --quota-redis-url, or while that store is unavailable")
	fs.StringVar(&o.StoreURL, "quota-store-url", o.StoreURL, "URL of an \"ingress store\" in which all replicas count together, such as https://hosted-bridge-store.hosted-bridge-system.svc:8443")
	fs.StringVar(&o.RedisURL, "quota-redis-url", o.RedisURL, "Redis or Valkey in which all replicas count together, such as redis://host:6379/0, rediss:// with TLS, in place of --quota-store-url")
	fs.StringVar(&o.PasswordFile, "quota-redis-password-file", o.PasswordFile, "file with its password, read at each connection (default: the environment's "+quotaPassword+")")
	fs.StringVar(&o.CAFile, "quota-redis-ca-file", o.CAFile, "PEM file with the authorities of its certificate (default: the system's)")
}

func (o *quotaOptions) validate() error {
	var errs []error
	if o.Replicas < 1 {
		errs = append(errs, errors.New("--replicas must be 1 or more"))
	}
	if o.StoreURL != "" && !isStore(o.StoreURL) {
		errs = append(errs, errors.New("--quota-store-url must be an https URL of the form https://host:port"))
	}
	if o.StoreURL != "" && o.RedisURL != "" {
		errs = append(errs, errors.New("--quota-store-url and --quota-redis-url exclude each other"))
	}
	if o.RedisURL != "" {
		if _, err := store.ParseURL(o.RedisURL); err != nil {
			errs = append(errs, fmt.Errorf("--quota-redis-url: %w", err))
		}
	} else if o.PasswordFile != "" || o.CAFile != "" {
		errs = append(errs, errors.New("--quota-redis-password-file and --quota-redis-ca-file need --quota-redis-url"))
	}
	return errors.Join(errs...)
}

// isStore reports whether text is the URL of an "ingress store".
func isStore(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == ""
}

// quotas are the limits of users and the counts of what they use.
type quotas struct {
	tiers *store.TierFile
	store *store.Store
}

// open reads the tiers and makes the store. credentials are for the installation's
// own store.
func (o *quotaOptions) open(credentials func() *tls.Config, metrics prometheus.Registerer, log *slog.Logger) (*quotas, error) {
	tiers, err := store.OpenTierFile(o.TiersFile, clock.System{}, log)
	if err != nil {
		return nil, err
	}
	redis, err := o.redis()
	if err != nil {
		return nil, fmt.Errorf("quota store: %w", err)
	}
	var remote *jsoncall.Client
	if o.StoreURL != "" {
		if remote, err = jsoncall.New(o.StoreURL, credentials); err != nil {
			return nil, fmt.Errorf("--quota-store-url: %w", err)
		}
	}
	counts, err := store.New(store.Options{Replicas: o.Replicas, Redis: redis, Remote: remote, Clock: clock.System{}, Metrics: metrics, Log: log})
	return &quotas{tiers: tiers, store: counts}, err
}

func (o *quotaOptions) redis() (*store.Redis, error) {
	if o.RedisURL == "" {
		return nil, nil
	}
	r := &store.Redis{URL: o.RedisURL, Password: o.password}
	if o.CAFile == "" {
		return r, nil
	}
	pem, err := os.ReadFile(o.CAFile) //nolint:gosec // A flag names the file.
	if err != nil {
		return nil, fmt.Errorf("read authorities: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read authorities: %s has no certificate in PEM", o.CAFile)
	}
	r.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return r, nil
}

func (o *quotaOptions) password() (string, error) {
	if o.PasswordFile == "" {
		return os.Getenv(quotaPassword), nil
	}
	b, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return string(bytes.TrimRight(b, "\r\n")), nil
}
