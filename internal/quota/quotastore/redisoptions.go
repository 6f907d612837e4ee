// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

var (
	errForm     = errors.New("the URL must be of the form redis://host:port/database, or rediss:// for TLS")
	errPassword = errors.New("the URL must not have a password in it, which everybody could read in the process list; give it in a file or in the environment")
	errDetail   = errors.New("the URL must be of the form redis://host:port/database, with a number for the database and no query")
)

// silentLog discards what the client would write to stderr by itself. Every
// failure is returned to us too.
type silentLog struct{}

// Printf implements the client's logger.
func (silentLog) Printf(context.Context, string, ...any) {}

var silenceLog = sync.OnceFunc(func() { redis.SetLogger(silentLog{}) })

// ParseURL reads the URL of a Redis. Its errors do not quote it.
func ParseURL(raw string) (*redis.Options, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Host == "" {
		return nil, errForm
	}
	// An empty password too: the URL's author expects that it counts.
	if _, set := u.User.Password(); set {
		return nil, errPassword
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, errDetail
	}
	return o, nil
}

// redisOptions returns the client's options. A command that may have been done is
// not sent again, and a caller waits for at most one answer.
func redisOptions(r Redis) (*redis.Options, error) {
	silenceLog()
	o, err := ParseURL(r.URL)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil && r.TLS != nil {
		config := r.TLS.Clone()
		config.ServerName = o.TLSConfig.ServerName
		o.TLSConfig = config
	}
	if r.Password != nil {
		user := o.Username
		o.CredentialsProviderContext = func(context.Context) (string, string, error) {
			password, err := r.Password()
			return user, password, err
		}
	}
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = r.Timeout, r.Timeout, r.Timeout, r.Timeout
	o.Protocol = 2 // Every server that has scripts speaks it.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}
