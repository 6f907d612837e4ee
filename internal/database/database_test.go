// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestStatementsAreBoundAsTheDatabaseHasIt(t *testing.T) {
	const statement = `SELECT a FROM b WHERE (c, d) < (?, ?) LIMIT ?`
	if got := (&DB{}).Bind(statement); got != statement {
		t.Error(got)
	}
	if got := (&DB{Shared: true}).Bind(statement); got != `SELECT a FROM b WHERE (c, d) < ($1, $2) LIMIT $3` {
		t.Error(got)
	}
}

func TestABadURLIsNotRepeated(t *testing.T) {
	for _, bad := range []string{"postgres://me:geheim@host:port/x", "geheim", "postgres://me:geheim@[::1"} {
		if _, err := OpenPostgres(bad); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("OpenPostgres(%q) = %v", bad, err)
		}
	}
}

// file opens a file whose name has what a URL would take for its query.
func file(t *testing.T, durability Durability) (db *DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a file?.db")
	db = must.Value(OpenSQLite(path, durability))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

func TestAFileIsItsOwnersAlone(t *testing.T) {
	db, path := file(t, Durable)
	must.Value(db.ExecContext(t.Context(), `CREATE TABLE a (b INT)`))(t)
	files, err := filepath.Glob(path + "*")
	if err != nil || !slices.Contains(files, path) {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

func TestAFileIsAsDurableAsWasAskedFor(t *testing.T) {
	for durability, want := range map[Durability]int{Loose: 1, Durable: 2} {
		db, _ := file(t, durability)
		var got int
		if err := db.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&got); err != nil || got != want {
			t.Errorf("%s: synchronous is %d, %v", durability, got, err)
		}
	}
}

func TestWhatFailsIsUndone(t *testing.T) {
	db, _ := file(t, Loose)
	must.Value(db.ExecContext(t.Context(), `CREATE TABLE a (b INT)`))(t)
	failed := errors.New("failed")
	for _, end := range []error{failed, nil} {
		err := db.InTx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO a VALUES (1)`)
			return errors.Join(err, end)
		})
		if !errors.Is(err, end) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := db.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO a VALUES (1)`)
		cancel()
		return errors.Join(err, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM a`).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("there are %d rows, %v", rows, err)
	}
}

func TestRowsAreRemovedAndCounted(t *testing.T) {
	db, _ := file(t, Loose)
	must.Value(db.ExecContext(t.Context(), `CREATE TABLE a (b INT)`))(t)
	must.Value(db.ExecContext(t.Context(), `INSERT INTO a (b) VALUES (1), (2), (3)`))(t)
	for _, want := range []int64{2, 0} {
		if removed, err := db.DeleteAlone(t.Context(), 1, `DELETE FROM a WHERE b < ?`, 3); removed != want || err != nil {
			t.Errorf("%d, %v, want %d", removed, err, want)
		}
	}
	if _, err := db.DeleteAlone(t.Context(), 1, `DELETE FROM none`); err == nil {
		t.Error("what failed is no error")
	}
}

func TestTablesOfALaterReleaseAreRefused(t *testing.T) {
	db, _ := file(t, Loose)
	schema := Schema{Table: "version", Version: 1, Statements: []string{`CREATE TABLE IF NOT EXISTS a (b INT)`}}
	for range 2 {
		must.Succeed(t, db.Prepare(t.Context(), schema))
	}
	later := schema
	later.Version = 2
	must.Succeed(t, db.Prepare(t.Context(), later))
	if err := db.Prepare(t.Context(), schema); err == nil || err.Error() != "its tables are of version 2, and this release knows version 1" {
		t.Error(err)
	}
}
