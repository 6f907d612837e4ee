// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redisdb connects the processes to a Redis or Valkey. Its importers
// define the content.
//
// The package is a leaf: shells import it.
package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where a server is, and how long clients wait for it.
type Config struct {
	// URL is redis://host:port/database, or rediss:// with TLS.
	URL string
	// Password returns the password, empty for none. It is called for each new
	// connection; nil means the one in the URL.
	Password func() (string, error)
	// TLS is used with rediss://; nil for the system's roots.
	TLS *tls.Config
	// Timeout bounds reaching the server and each answer.
	Timeout time.Duration
}

var (
	errForm   = errors.New("the URL must be of the form redis://host:port/database, or rediss:// for TLS")
	errDetail = errors.New("the URL must be of the form redis://host:port/database, with a number for the database and no query")
)

// silent discards what the client would write to stderr by itself. Every
// failure is returned to us too.
type silent struct{}

// Printf implements the client's logger.
func (silent) Printf(context.Context, string, ...any) {}

var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

// Parse reads a URL. Its errors do not quote it.
func Parse(raw string) (*redis.Options, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Host == "" {
		return nil, errForm
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, errDetail
	}
	return o, nil
}

// Options returns the client's options. A command that may have been done is
// not sent again, and a caller waits for at most one answer.
func Options(c Config) (*redis.Options, error) {
	silence()
	o, err := Parse(c.URL)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil && c.TLS != nil {
		config := c.TLS.Clone()
		config.ServerName = o.TLSConfig.ServerName
		o.TLSConfig = config
	}
	if c.Password != nil {
		user := o.Username
		o.CredentialsProviderContext = func(context.Context) (string, string, error) {
			password, err := c.Password()
			return user, password, err
		}
	}
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = c.Timeout, c.Timeout, c.Timeout, c.Timeout
	o.Protocol = 2 // Every server that has scripts speaks it.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}
