// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/database"
)

// schemaVersion is that of the table below.
const schemaVersion = 1

// Replicas exclude each other from making the table, and from removing what is
// over. The numbers are of no meaning but that all replicas use them; those
// before them are the audit index's.
const prepareLock, purgeLock = 7203498152, 7203498153

// schema is what both databases know by the same name. expires are Unix
// milliseconds. To SQLite BYTEA is no type it knows, and it keeps bytes as bytes.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS hosted_bridge_login (
		kind TEXT NOT NULL,
		key TEXT NOT NULL,
		value BYTEA NOT NULL,
		expires BIGINT NOT NULL,
		PRIMARY KEY (kind, key)
	)`,
	`CREATE INDEX IF NOT EXISTS hosted_bridge_login_by_end ON hosted_bridge_login (kind, expires)`,
}

// Each of these is one statement, which the database does as a whole or not at
// all: of two that take or swap the same entry, the second finds it gone.
const (
	// An entry that is over counts as gone, whether or not it was removed yet.
	putEntry = `INSERT INTO hosted_bridge_login (kind, key, value, expires) VALUES (?, ?, ?, ?)
		ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, expires = excluded.expires WHERE hosted_bridge_login.expires <= ?`
	getEntry    = `SELECT value FROM hosted_bridge_login WHERE kind = ? AND key = ? AND expires > ?`
	takeEntry   = `DELETE FROM hosted_bridge_login WHERE kind = ? AND key = ? AND expires > ? RETURNING value`
	swapEntry   = `UPDATE hosted_bridge_login SET value = ?, expires = ? WHERE kind = ? AND key = ? AND value = ? AND expires > ?`
	deleteEntry = `DELETE FROM hosted_bridge_login WHERE kind = ? AND key = ?`
	// SQLite takes no offset without a limit.
	trimEntries = `DELETE FROM hosted_bridge_login WHERE (kind, key) IN
		(SELECT kind, key FROM hosted_bridge_login WHERE kind = ? ORDER BY expires DESC LIMIT 1000000 OFFSET ?)`
	nextKind = `SELECT kind FROM hosted_bridge_login WHERE kind > ? ORDER BY kind LIMIT 1`
	// It keeps an entry that was stored again since it was found to be expired.
	purgeEntries = `DELETE FROM hosted_bridge_login WHERE expires <= ? AND (kind, key) IN
		(SELECT kind, key FROM hosted_bridge_login WHERE kind = ? AND expires <= ? LIMIT ?)`
)

// purgeBatch is how many entries one statement removes, so that nobody waits
// long for the one who does.
const purgeBatch = 1000

// table is a store in an SQL database.
type table struct {
	db  *database.DB
	now func() time.Time
	// commits is how a file is written to, nil where the database has its own way
	// to write for several at once.
	commits *commits

	prepared atomic.Bool
	// preparing is held, by a value in it, while the table is made.
	preparing chan struct{}
}

func openSQLite(path string, now func() time.Time) (*table, error) {
	// A code that was used must not be there again after a power failure.
	db, err := database.OpenSQLite(path, database.Durable)
	if err != nil {
		return nil, err
	}
	t := newTable(db, now)
	t.commits = &commits{db: db}
	return t, nil
}

func openPostgres(url string, now func() time.Time) (*table, error) {
	db, err := database.OpenPostgres(url)
	if err != nil {
		return nil, err
	}
	return newTable(db, now), nil
}

func newTable(db *database.DB, now func() time.Time) *table {
	return &table{db: db, now: now, preparing: make(chan struct{}, 1)}
}

// ready makes the table where it is missing.
func (t *table) ready(ctx context.Context) error {
	if t.prepared.Load() {
		return nil
	}
	select {
	case t.preparing <- struct{}{}:
		defer func() { <-t.preparing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.prepared.Load() {
		return nil
	}
	err := t.db.Prepare(ctx, database.Schema{Table: "hosted_bridge_login_schema", Version: schemaVersion, Statements: schema, Lock: prepareLock})
	if err != nil {
		return fmt.Errorf("prepare its tables: %w", err)
	}
	t.prepared.Store(true)
	return nil
}

// statements is what a statement can be run by: the database, or a transaction.
type statements interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row
}

// write runs one statement that changes something.
func (t *table) write(ctx context.Context, do func(context.Context, statements) error) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if t.commits == nil {
		return do(ctx, t.db)
	}
	return t.commits.write(ctx, do)
}

// change runs a statement, and returns otherwise where it changed nothing.
func (t *table) change(ctx context.Context, otherwise error, statement string, args ...any) error {
	return t.write(ctx, func(ctx context.Context, s statements) error {
		result, err := s.ExecContext(ctx, t.db.Bind(statement), args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return otherwise
	})
}

// Put implements flow.Store.
func (t *table) Put(ctx context.Context, kind flow.Kind, key string, value []byte, expires time.Time) error {
	return t.change(ctx, flow.ErrExists, putEntry, string(kind), key, some(value), expires.UnixMilli(), t.now().UnixMilli())
}

// some returns the value as bytes, not nil if empty: nil would be NULL.
func some(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// Get implements flow.Store.
func (t *table) Get(ctx context.Context, kind flow.Kind, key string) (value []byte, err error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	err = t.db.QueryRowContext(ctx, t.db.Bind(getEntry), string(kind), key, t.now().UnixMilli()).Scan(&value)
	return value, notFound(err)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return flow.ErrNotFound
	}
	return err
}

// Take implements flow.Store.
func (t *table) Take(ctx context.Context, kind flow.Kind, key string) ([]byte, error) {
	var taken []byte
	err := t.write(ctx, func(ctx context.Context, s statements) error {
		return notFound(s.QueryRowContext(ctx, t.db.Bind(takeEntry), string(kind), key, t.now().UnixMilli()).Scan(&taken))
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// Swap implements flow.Store.
func (t *table) Swap(ctx context.Context, kind flow.Kind, key string, old, value []byte, expires time.Time) error { //nolint:revive // The interface is flow's.
	return t.change(ctx, flow.ErrNotFound, swapEntry, some(value), expires.UnixMilli(), string(kind), key, some(old), t.now().UnixMilli())
}

// Delete implements flow.Store.
func (t *table) Delete(ctx context.Context, kind flow.Kind, key string) error {
	return t.change(ctx, nil, deleteEntry, string(kind), key)
}

// Trim implements flow.Store.
func (t *table) Trim(ctx context.Context, kind flow.Kind, most int) error {
	return t.change(ctx, nil, trimEntries, string(kind), most)
}

// purge removes what is over, of one kind after the other: the index is by kind.
func (t *table) purge(ctx context.Context) (removed int64, err error) {
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	for kind := ""; ; {
		err := t.db.QueryRowContext(ctx, t.db.Bind(nextKind), kind).Scan(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return removed, nil
		}
		if err != nil {
			return removed, err
		}
		for n := int64(purgeBatch); n == purgeBatch; {
			now := t.now().UnixMilli()
			if n, err = t.db.DeleteAlone(ctx, purgeLock, purgeEntries, now, kind, now, purgeBatch); err != nil {
				return removed, err
			}
			removed += n
		}
	}
}

// Close ends all connections.
func (t *table) Close() error {
	if t.commits != nil {
		t.commits.close()
	}
	return t.db.Close()
}
