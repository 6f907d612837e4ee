// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // The driver "sqlite".
)

// connections bounds what one process has open at a database: one that writes,
// and a few that ask.
const connections = 4

// Store is an index in a database.
type Store struct {
	// open returns the store that takes this one's place, nil where this one is
	// it. opening is held while it is called, and while it is set who has it.
	open    func() (*Store, error)
	opening sync.Mutex

	db       *sql.DB
	dialect  dialect
	prepared atomic.Bool
}

// Later returns the store that open opens, once it can. Until then the store's
// methods fail, and each of them tries.
func Later(open func() (*Store, error)) *Store { return &Store{open: open} }

// find opens the database, if that is still to be done.
func (s *Store) find() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.open == nil {
		return nil
	}
	found, err := s.open()
	if err != nil {
		return err
	}
	s.db, s.dialect, s.open = found.db, found.dialect, nil
	return nil
}

// dialect is what databases have each in their own way.
type dialect struct {
	// shared reports whether several processes fill one database.
	shared bool
	// numbered placeholders are $1, $2; others are ?.
	numbered bool
	// lock keeps others from preparing the tables until a transaction's end, and
	// purgeLock from removing entries.
	lock, purgeLock string
}

// bind returns the statement with the database's placeholders for ?, which
// stands for nothing else in ours.
func (d dialect) bind(statement string) string {
	if !d.numbered {
		return statement
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(statement, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// OpenSQLite opens the index in the file at path, which is made where it is
// missing. Only one process at a time may use it.
func OpenSQLite(path string) (*Store, error) {
	// The driver would make the file readable for others.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open audit index: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open audit index: %w", err)
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"journal_mode(WAL)", // Who asks does not wait for who writes.
		"busy_timeout(5000)",
		// The last writes before a power failure may be lost. They are in the
		// trail, and with them the progress, so that they are read again.
		"synchronous(NORMAL)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open audit index: %w", err)
	}
	db.SetMaxOpenConns(connections)
	return &Store{db: db}, nil
}

var errURL = errors.New("the URL of the audit index cannot be read: it must be like postgres://user:password@host:5432/database")

// OpenPostgres returns the index in the database of the URL. It does not
// connect yet.
func OpenPostgres(databaseURL string) (*Store, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errURL // The parser's own error repeats parts of the URL.
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	// A connection to a server that was replaced ends by itself.
	db.SetConnMaxLifetime(10 * time.Minute)
	// The numbers are of no meaning but that all replicas use them.
	return &Store{db: db, dialect: dialect{
		shared: true, numbered: true,
		lock: `SELECT pg_advisory_xact_lock(7203498150)`, purgeLock: `SELECT pg_advisory_xact_lock(7203498151)`,
	}}, nil
}

// Close ends all connections.
func (s *Store) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.open = func() (*Store, error) { return nil, errClosed }
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

var errClosed = errors.New("the audit index is closed")

func (s *Store) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreDone drops that a transaction was over already, because its context or
// its connection ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
