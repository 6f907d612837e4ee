// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
)

// The kinds of --audit-index.
const (
	indexNone     = "none"
	indexSQLite   = "sqlite"
	indexPostgres = "postgres"
	indexStore    = "store"
)

// indexOf splits what --audit-index has.
func indexOf(s string) (kind, path string, ok bool) {
	kind, path, _ = strings.Cut(s, ":")
	switch kind {
	case indexNone:
		return kind, "", path == "" && s == indexNone
	case indexSQLite, indexPostgres:
		return kind, path, path != ""
	case indexStore:
		return kind, path, isStore(path)
	}
	return "", "", false
}

// openIndex returns the index of the audit trail, nil where there is to be
// none. keep says for how long the entries of a user are kept. The database is
// opened when the index runs, and for as long as that fails again and again: a
// missing copy of the trail is no reason not to serve.
func (o *options) openIndex(keep func(user string) time.Duration, credentials func() *tls.Config, log *slog.Logger) (*index.Index, error) {
	kind, path, _ := indexOf(o.AuditIndex)
	config := index.Config{Keep: keep, Log: log}
	if trail := o.Audit.Sink.Path; trail != "" {
		config.Files = func() ([]string, error) { return sink.Files(trail) }
	}
	open := func() (*index.Store, error) { return index.OpenSQLite(path) }
	switch kind {
	case indexSQLite:
	case indexStore:
		c, err := jsoncall.New(path, credentials)
		if err != nil {
			return nil, fmt.Errorf("--audit-index: %w", err)
		}
		return index.New(index.NewRemote(c), config), nil
	case indexPostgres:
		open = func() (*index.Store, error) {
			url, err := os.ReadFile(path) //nolint:gosec // Whoever sets the flag says which file it is.
			if err != nil {
				return nil, err
			}
			return index.OpenPostgres(string(bytes.TrimSpace(url)))
		}
	default:
		return nil, nil
	}
	return index.New(index.Later(func() (*index.Store, error) {
		store, err := open()
		if err != nil {
			return nil, fmt.Errorf("--audit-index: %w", err)
		}
		return store, nil
	}), config), nil
}

// trail is the audit trail, with its index where there is one.
type trail struct {
	sink   *sink.Sink
	hasher *audit.Hasher
	index  *index.Index // nil where there is none
}

// openTrail returns the trail, whose index runs with it. keep says for how long the
// index keeps the entries of a user.
func openTrail(o *options, c *core, keep func(user string) time.Duration, stdout io.Writer) (*trail, error) {
	x, err := o.openIndex(keep, c.identity.storeTLS, c.log)
	if err != nil {
		return nil, err
	}
	t := &trail{index: x}
	if t.index != nil {
		o.Audit.Sink.Follow = t.index.Follow
	}
	t.sink, t.hasher, err = o.Audit.open(stdout, c.log)
	return t, err
}

// register registers the metrics of the index.
func (t *trail) register(metrics prometheus.Registerer) error {
	if t.index == nil {
		return nil
	}
	if err := t.index.Register(metrics); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// search returns where administrators search for entries.
func (t *trail) search() management.AuditIndex {
	if t.index == nil {
		return management.NoAuditIndex{}
	}
	return t.index
}

// run fills the index, where there is one, until end is called: that closes the
// sink, and after it the index, which has each entry then. ctx is that of serving,
// which ends before the last entries are written.
func (t *trail) run(ctx context.Context) (end func() error) {
	if t.index == nil {
		return t.sink.Close
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- t.index.Run(running) }()
	return func() error {
		err := t.sink.Close()
		stop()
		return errors.Join(err, <-ended)
	}
}

// auditRetention returns for how long a user's entries are kept: as long as the
// user's tier says. For users that have no bridge any more, or a tier that is
// none, it is the longest time that any tier has.
func (c *core) auditRetention(user string) time.Duration {
	const day = 24 * time.Hour
	tiers := c.quotas.tiers.Tiers()
	if table := c.routes.Current(); table != nil {
		if b, ok := table.Lookup(v1alpha1.UserID(user)); ok {
			if tier, ok := tiers[b.Tier]; ok {
				return time.Duration(tier.AuditDays) * day
			}
		}
	}
	longest := int32(1)
	for _, tier := range tiers {
		longest = max(longest, tier.AuditDays)
	}
	return time.Duration(longest) * day
}
