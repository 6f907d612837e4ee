// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
)

// The kinds of --audit-index.
const (
	indexNone     = "none"
	indexSQLite   = "sqlite"
	indexPostgres = "postgres"
)

// indexOf splits what --audit-index has.
func indexOf(s string) (kind, path string, ok bool) {
	kind, path, _ = strings.Cut(s, ":")
	switch kind {
	case indexNone:
		return kind, "", path == "" && s == indexNone
	case indexSQLite, indexPostgres:
		return kind, path, path != ""
	}
	return "", "", false
}

// openIndex returns the index of the audit trail, nil where there is to be
// none. keep says for how long the entries of a user are kept. The database is
// opened when the index runs, and for as long as that fails again and again: a
// copy of the trail keeps nobody from being served.
func (o *options) openIndex(keep func(user string) time.Duration, log *slog.Logger) *index.Index {
	kind, path, _ := indexOf(o.AuditIndex)
	open := func() (*index.Store, error) { return index.OpenSQLite(path) }
	switch kind {
	case indexSQLite:
	case indexPostgres:
		open = func() (*index.Store, error) {
			url, err := os.ReadFile(path) //nolint:gosec // Whoever sets the flag says which file it is.
			if err != nil {
				return nil, err
			}
			return index.OpenPostgres(string(bytes.TrimSpace(url)))
		}
	default:
		return nil
	}
	config := index.Config{Keep: keep, Log: log}
	if trail := o.Audit.Sink.Path; trail != "" {
		config.Files = func() ([]string, error) { return sink.Files(trail) }
	}
	return index.New(index.Later(func() (*index.Store, error) {
		store, err := open()
		if err != nil {
			return nil, fmt.Errorf("--audit-index: %w", err)
		}
		return store, nil
	}), config)
}

// auditIndex returns what administrators ask.
func (p *parts) auditIndex() ingress.AuditIndex {
	if p.index == nil {
		return ingress.NoAuditIndex{}
	}
	return p.index
}

// keepTrail fills the index, where there is one, until end is called: that ends
// the trail, and after it the index, which has each line then. ctx is that of
// serving, which ends before the last lines are written.
func (p *parts) keepTrail(ctx context.Context) (end func() error) {
	if p.index == nil {
		return p.audit.Close
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- p.index.Run(running) }()
	return func() error {
		err := p.audit.Close()
		stop()
		return errors.Join(err, <-ended)
	}
}

// keepAudit returns for how long a user's entries are kept: as long as the
// user's tier says. For those who have no bridge any more, or a tier that is
// none, it is the longest time that any tier has.
func (p *parts) keepAudit(user string) time.Duration {
	const day = 24 * time.Hour
	tiers := p.tiers.Tiers()
	if table := p.watcher.Current(); table != nil {
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
