// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// quotaPassword is the environment's variable with the store's password.
const quotaPassword = "QUOTA_REDIS_PASSWORD"

// Settings say what users may and where it is counted.
type Settings struct {
	TiersFile string
	// Replicas is how many ingresses share the quotas, as far as no store tells.
	Replicas int
	// StoreURL is that of the installation's own store, and RedisURL that of a
	// Redis. Both empty: each replica counts for itself.
	StoreURL, RedisURL string
	// PasswordFile and CAFile belong to the Redis.
	PasswordFile, CAFile string
}

// Declare declares the settings.
func (o *Settings) Declare(s *setting.Set) {
	s.String(&o.TiersFile, "tiers-file", "", "YAML file with the installation's tiers, read again when it changes; the default tiers are free, pro and business")
	s.Int(&o.Replicas, "replicas", 1, "how many ingresses share each quota without --quota-store-url and --quota-redis-url, or while that store is unavailable", setting.AtLeast(1))
	s.String(&o.StoreURL, "quota-store-url", "", "URL of an \"ingress store\" in which all replicas count together, such as https://hosted-bridge-store.hosted-bridge-system.svc:8443", setting.Optional(setting.HTTPS))
	s.String(&o.RedisURL, "quota-redis-url", "", "Redis or Valkey in which all replicas count together, such as redis://host:6379/0, rediss:// with TLS, in place of --quota-store-url", setting.Optional(func(value string) error {
		_, err := ParseURL(value)
		return err
	}))
	s.String(&o.PasswordFile, "quota-redis-password-file", "", "file with its password, read at each connection (default: the environment's "+quotaPassword+")")
	s.String(&o.CAFile, "quota-redis-ca-file", "", "PEM file with the authorities of its certificate (default: the system's)")
	s.Check(func() error {
		switch {
		case o.StoreURL != "" && o.RedisURL != "":
			return errors.New("--quota-store-url: --quota-redis-url is given too, and counts are kept in one place; give one of them")
		case o.RedisURL == "" && (o.PasswordFile != "" || o.CAFile != ""):
			return errors.New("--quota-redis-url: the value is empty; give it with --quota-redis-password-file and --quota-redis-ca-file, or leave them out")
		}
		return nil
	})
}

// Open reads the tiers and makes the store. credentials are for the installation's
// own store.
func (o *Settings) Open(credentials func() *tls.Config, metrics prometheus.Registerer, log *slog.Logger) (*TierFile, *Store, error) {
	tiers, err := OpenTierFile(o.TiersFile, clock.System{}, log)
	if err != nil {
		return nil, nil, err
	}
	redis, err := o.redis()
	if err != nil {
		return nil, nil, fmt.Errorf("quota store: %w", err)
	}
	var remote *jsoncall.Client
	if o.StoreURL != "" {
		if remote, err = jsoncall.New(o.StoreURL, credentials); err != nil {
			return nil, nil, fmt.Errorf("--quota-store-url: %w", err)
		}
	}
	counts, err := New(Options{Replicas: o.Replicas, Redis: redis, Remote: remote, Clock: clock.System{}, Metrics: metrics, Log: log})
	return tiers, counts, err
}

func (o *Settings) redis() (*Redis, error) {
	if o.RedisURL == "" {
		return nil, nil
	}
	r := &Redis{URL: o.RedisURL, Password: o.password}
	if o.CAFile == "" {
		return r, nil
	}
	pem, err := os.ReadFile(o.CAFile)
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

func (o *Settings) password() (string, error) {
	if o.PasswordFile == "" {
		return os.Getenv(quotaPassword), nil
	}
	b, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return string(bytes.TrimRight(b, "\r\n")), nil
}
