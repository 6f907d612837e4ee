// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trail joins the audit trail of a process, which its sink writes, with its index.
package trail

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

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// The kinds of --audit-index.
const (
	indexNone     = "none"
	indexSQLite   = "sqlite"
	indexPostgres = "postgres"
	indexStore    = "store"
)

// IndexKind returns the kind of the index as a page says it.
func (a *Options) IndexKind() string {
	kind, _, _ := indexOf(a.Index)
	return map[string]string{indexNone: "none", indexSQLite: "SQLite, one in each replica", indexPostgres: "PostgreSQL", indexStore: "SQLite, in the store"}[kind]
}

// indexOf splits what --audit-index has.
func indexOf(s string) (kind, path string, ok bool) {
	kind, path, _ = strings.Cut(s, ":")
	switch kind {
	case indexNone:
		return kind, "", path == "" && s == indexNone
	case indexSQLite, indexPostgres:
		return kind, path, path != ""
	case indexStore:
		return kind, path, setting.HTTPS(path) == nil
	}
	return "", "", false
}

// openIndex returns the index of the audit trail, nil where there is to be
// none. keep says for how long the entries of a user are kept. The database is
// opened when the index runs, and for as long as that fails again and again: a
// missing copy of the trail is no reason not to serve.
func (a *Options) openIndex(keep func(user string) time.Duration, credentials func() *tls.Config, log *slog.Logger) (*index.Index, error) {
	kind, path, _ := indexOf(a.Index)
	config := index.Config{Keep: keep, Log: log}
	if trail := a.Sink.Path; trail != "" {
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
			url, err := os.ReadFile(path)
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

// Trail is the audit trail, with its index where there is one.
type Trail struct {
	Sink   *sink.Sink
	Hasher *audit.Hasher
	Index  *index.Index // nil without an index
}

// Open returns the trail, whose index runs with it. keep says for how long the index keeps the entries
// of a user, and credentials are for an index in the store.
func (a *Options) Open(keep func(user string) time.Duration, credentials func() *tls.Config, stdout io.Writer, log *slog.Logger) (*Trail, error) {
	x, err := a.openIndex(keep, credentials, log)
	if err != nil {
		return nil, err
	}
	t := &Trail{Index: x}
	if t.Index != nil {
		a.Sink.Follow = t.Index.Follow
	}
	t.Sink, t.Hasher, err = a.open(stdout, log)
	return t, err
}

// Register registers the metrics of the index.
func (t *Trail) Register(metrics prometheus.Registerer) error {
	if t.Index == nil {
		return nil
	}
	if err := t.Index.Register(metrics); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Run fills the index, where there is one, until end is called: that closes the
// sink, and after it the index, which has each entry then. ctx is that of serving,
// which ends before the last entries are written.
func (t *Trail) Run(ctx context.Context) (end func() error) {
	if t.Index == nil {
		return t.Sink.Close
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- t.Index.Run(running) }()
	return func() error {
		err := t.Sink.Close()
		stop()
		return errors.Join(err, <-ended)
	}
}
