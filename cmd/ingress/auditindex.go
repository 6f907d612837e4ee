// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
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
// none. keep says for how long the entries of a user are kept.
func (o *options) openIndex(keep func(user string) time.Duration, log *slog.Logger) (*index.Index, error) {
	kind, path, _ := indexOf(o.AuditIndex)
	var database *index.Store
	var err error
	switch kind {
	case indexSQLite:
		database, err = index.OpenSQLite(path)
	case indexPostgres:
		var url []byte
		if url, err = os.ReadFile(path); err == nil {
			database, err = index.OpenPostgres(string(bytes.TrimSpace(url)))
		}
	default:
		return nil, nil //nolint:nilnil // No index is no error.
	}
	if err != nil {
		return nil, fmt.Errorf("--audit-index: %w", err)
	}
	config := index.Config{Keep: keep, Log: log}
	if trail := o.Audit.Sink.Path; trail != "" {
		config.Files = func() ([]string, error) { return sink.Files(trail) }
	}
	return index.New(database, config), nil
}

// auditIndex returns what administrators ask.
func (p *parts) auditIndex() ingress.AuditIndex {
	if p.index == nil {
		return ingress.NoAuditIndex{}
	}
	return p.index
}

// runIndex fills the index, where there is one.
func (p *parts) runIndex(ctx context.Context) error {
	if p.index == nil {
		return nil
	}
	return p.index.Run(ctx)
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
