// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answerstore keeps answers of users' bridges for the ingresses, which give them while a
// bridge does not run. Answers are sealed by the ingresses, and mean nothing here. They are worth
// one wait of a client each, so a file that is of no use is begun again.
//
// The package is a shell.
package answerstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/database"
)

const (
	// MaxAnswer bounds one answer, in bytes, compressed and sealed: some thousand tools.
	MaxAnswer = 512 << 10
	// maxOfBridge bounds those of one bridge: several clients with a few lists each.
	maxOfBridge = 1 << 20
	// maxTotal bounds all of them: 10,000 bridges with 25 KiB each.
	maxTotal = 256 << 20
	// unusedFor is for how long an answer is kept that nobody was given.
	unusedFor = 30 * 24 * time.Hour
	// noteUse is how exact the time of the last use is: a write for each answer would be for nothing.
	noteUse = time.Hour
)

// errUnavailable says that the file cannot be used.
var errUnavailable = errors.New("the kept answers are not available: the store's log says why")

var statements = []string{
	`CREATE TABLE IF NOT EXISTS answers (
		bridge TEXT NOT NULL, view TEXT NOT NULL, sealed BLOB NOT NULL, size BIGINT NOT NULL, used BIGINT NOT NULL,
		PRIMARY KEY (bridge, view)
	) WITHOUT ROWID`,
	`CREATE INDEX IF NOT EXISTS answers_by_use ON answers (used, size)`,
}

// Store keeps answers in a file. It is safe for concurrent use.
type Store struct {
	db    *database.DB // nil if the file cannot be used
	clock clock.Clock
	// maxOfBridge and maxTotal are bounds in bytes; tests lower them.
	maxOfBridge, maxTotal int64
}

// Open opens the file at path, which it creates if it is missing and begins again if it cannot be
// read. The error says why nothing is kept; the store then refuses all calls.
func Open(ctx context.Context, path string, clock clock.Clock) (*Store, error) {
	s := &Store{clock: clock, maxOfBridge: maxOfBridge, maxTotal: maxTotal}
	err := s.open(ctx, path)
	if err != nil {
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			if failed := os.Remove(name); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
		err = s.open(ctx, path)
	}
	if err != nil {
		return s, fmt.Errorf("open the kept answers: %w", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) error {
	db, err := database.OpenSQLite(path, database.Loose)
	if err != nil {
		return err
	}
	if err := db.Prepare(ctx, database.Schema{Table: "answers_schema", Version: 1, Statements: statements}); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

// Close closes the file.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// get returns an answer, or nil.
func (s *Store) get(ctx context.Context, of Name) (sealed []byte, err error) {
	if s.db == nil {
		return nil, errUnavailable
	}
	now, used := s.clock.Now().Unix(), int64(0)
	err = s.db.QueryRowContext(ctx, `SELECT sealed, used FROM answers WHERE bridge = ? AND view = ?`, of.Bridge, of.View).Scan(&sealed, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil && now-used >= int64(noteUse/time.Second) {
		_, err = s.db.ExecContext(ctx, `UPDATE answers SET used = ? WHERE bridge = ? AND view = ?`, now, of.Bridge, of.View)
	}
	return sealed, err
}

// put replaces an answer. Where there is no room, those go that were used longest ago: first of the
// same bridge, then of all.
func (s *Store) put(ctx context.Context, a Answer) error {
	if s.db == nil {
		return errUnavailable
	}
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO answers (bridge, view, sealed, size, used) VALUES (?, ?, ?, ?, ?)`,
			a.Bridge, a.View, a.Sealed, len(a.Sealed), s.clock.Now().Unix())
		if err != nil {
			return err
		}
		if err := s.trim(ctx, tx, s.maxOfBridge, `WHERE bridge = ?`, a.Bridge); err != nil {
			return err
		}
		return s.trim(ctx, tx, s.maxTotal, ``)
	})
}

// trim removes the answers that were used longest ago until those of a condition have at most so
// many bytes.
func (s *Store) trim(ctx context.Context, tx *sql.Tx, most int64, where string, args ...any) error {
	var total int64
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM answers `+where, args...).Scan(&total); err != nil {
		return err
	}
	for total > most {
		var oldest Name
		var size int64
		err := tx.QueryRowContext(ctx, `SELECT bridge, view, size FROM answers `+where+` ORDER BY used LIMIT 1`, args...).Scan(&oldest.Bridge, &oldest.View, &size)
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM answers WHERE bridge = ? AND view = ?`, oldest.Bridge, oldest.View)
		}
		if err != nil {
			return err
		}
		total -= size
	}
	return nil
}

// keep removes the answers of all bridges but these, and those that nobody was given for long.
func (s *Store) keep(ctx context.Context, bridges []string) error {
	if s.db == nil {
		return errUnavailable
	}
	needed := make(map[string]bool, len(bridges))
	for _, bridge := range bridges {
		needed[bridge] = true
	}
	gone, err := s.without(ctx, needed)
	if err != nil {
		return err
	}
	for _, bridge := range gone {
		if _, err := s.db.ExecContext(ctx, `DELETE FROM answers WHERE bridge = ?`, bridge); err != nil {
			return err
		}
	}
	_, err = s.db.ExecContext(ctx, `DELETE FROM answers WHERE used < ?`, s.clock.Now().Add(-unusedFor).Unix())
	return err
}

// without returns the bridges that have answers and are not among those that are needed.
func (s *Store) without(ctx context.Context, needed map[string]bool) (gone []string, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT DISTINCT bridge FROM answers`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var bridge string
		if err := rows.Scan(&bridge); err != nil {
			return nil, err
		}
		if !needed[bridge] {
			gone = append(gone, bridge)
		}
	}
	return gone, rows.Err()
}
