// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // The driver "sqlite".
)

// connections bounds one process's open connections to a database: one writer
// and a few readers.
const connections = 4

// DB is a database. It is safe for concurrent use.
type DB struct {
	*sql.DB
	// Shared reports whether several processes use it, that is, whether it is
	// PostgreSQL.
	Shared bool
}

// Durability says what of an SQLite file survives a power failure. A process
// that ends, in whatever way, loses nothing.
type Durability string

const (
	// Loose is for data that can be restored from elsewhere: the last
	// transactions before a power failure may be lost, and none waits for the
	// disk.
	Loose Durability = "NORMAL"
	// Durable is for data that exists nowhere else: a transaction ends when it
	// is on the disk.
	Durable Durability = "FULL"
)

// OpenSQLite opens the file at path, and creates it if it is missing. Only one
// process at a time may use it. A writer takes the lock when its transaction
// begins, and waits up to 5 s for another transaction.
func OpenSQLite(path string, durability Durability) (*DB, error) {
	// The driver would create a file that others can read.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"journal_mode(WAL)", // Readers do not wait for writers.
		"busy_timeout(5000)",
		"synchronous(" + string(durability) + ")",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	return &DB{DB: db}, nil
}

var errURL = errors.New("its URL cannot be read: it must be like postgres://user:password@host:5432/database")

// OpenPostgres returns the database of the URL. It does not connect yet. Its
// errors do not quote the URL.
func OpenPostgres(databaseURL string) (*DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errURL // The parser's own error repeats parts of the URL.
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	// Connections to a server that was replaced end by themselves.
	db.SetConnMaxLifetime(10 * time.Minute)
	return &DB{DB: db, Shared: true}, nil
}

// Bind returns the statement with the database's placeholders for ?, which our
// statements use for nothing else.
func (d *DB) Bind(statement string) string {
	if !d.Shared {
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

// InTx runs do in a transaction, which is rolled back if that fails.
func (d *DB) InTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreDone ignores that a transaction has already ended, because its context
// or its connection ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Exclude locks a number until the transaction's end; other processes wait for
// it. A file has only one process.
func (d *DB) Exclude(ctx context.Context, tx *sql.Tx, number int64) error {
	if !d.Shared {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, number)
	return err
}

// DeleteAlone runs a statement that removes rows, while no other process runs
// one with that lock: two processes that lock the same rows in different orders
// would deadlock. It returns how many rows it removed.
func (d *DB) DeleteAlone(ctx context.Context, lock int64, statement string, args ...any) (removed int64, err error) {
	err = d.InTx(ctx, func(tx *sql.Tx) error {
		if err := d.Exclude(ctx, tx, lock); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, d.Bind(statement), args...)
		if err != nil {
			return err
		}
		removed, err = result.RowsAffected()
		return err
	})
	return removed, err
}

// Schema describes the tables that must exist.
type Schema struct {
	// Table holds the version of the others. It is created with them.
	Table   string
	Version int
	// Statements create missing tables and indexes, and run at each start.
	Statements []string
	// Lock is the number by which processes exclude each other here: processes
	// that start together would otherwise create the tables together.
	Lock int64
}

// Prepare creates missing tables, and refuses those of a later release.
func (d *DB) Prepare(ctx context.Context, s Schema) error {
	return d.InTx(ctx, func(tx *sql.Tx) error {
		if err := d.Exclude(ctx, tx, s.Lock); err != nil {
			return err
		}
		statements := append([]string{`CREATE TABLE IF NOT EXISTS ` + s.Table + ` (version BIGINT NOT NULL PRIMARY KEY)`}, s.Statements...)
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return d.checkVersion(ctx, tx, s)
	})
}

func (d *DB) checkVersion(ctx context.Context, tx *sql.Tx, s Schema) error {
	if _, err := tx.ExecContext(ctx, d.Bind(`INSERT INTO `+s.Table+` (version) VALUES (?) ON CONFLICT DO NOTHING`), s.Version); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRowContext(ctx, `SELECT MAX(version) FROM `+s.Table).Scan(&version); err != nil {
		return err
	}
	if version > s.Version {
		return fmt.Errorf("its tables are of version %d, and this release knows version %d", version, s.Version)
	}
	return nil
}
