// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

const insertEntry = `INSERT INTO audit_entries
	(writer, seq, time_ms, user_id, bridge_uid, server, tool, method, status, latency_ms, entry)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// The progress never goes back: a record that comes a second time is known.
const setProgress = `INSERT INTO audit_progress (writer, seq) VALUES (?, ?)
	ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq WHERE audit_progress.seq < excluded.seq`

// add takes records, and with them that their chains have been read up to
// them. Those that are there already are left as they are.
func (s *Store) add(ctx context.Context, records []audit.Record) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, s.db.Bind(insertEntry))
		if err != nil {
			return err
		}
		defer insert.Close() //nolint:errcheck // The transaction's end says what went wrong.
		progress := map[string]uint64{}
		for _, r := range records {
			progress[r.Writer] = max(progress[r.Writer], r.Seq)
			if r.Torn != nil {
				continue
			}
			entry, err := json.Marshal(r.Entry)
			if err != nil {
				return err
			}
			at, e := r.Position(), r.Entry
			_, err = insert.ExecContext(ctx, at.Writer, int64(at.Seq), at.TimeMS, e.UserID, e.BridgeUID, //nolint:gosec // Nobody writes 2^63 lines.
				e.Server, e.Tool, e.Method, string(e.Status), e.LatencyMS, string(entry))
			if err != nil {
				return err
			}
		}
		for writer, seq := range progress {
			if _, err := tx.ExecContext(ctx, s.db.Bind(setProgress), writer, int64(seq)); err != nil { //nolint:gosec // As above.
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write to the audit index: %w", err)
	}
	return nil
}

// progress returns up to which line the writer's chain has been read.
func (s *Store) progress(ctx context.Context, writer string) (uint64, error) {
	if err := s.prepare(ctx); err != nil {
		return 0, err
	}
	var seq int64
	err := s.db.QueryRowContext(ctx, s.db.Bind(`SELECT seq FROM audit_progress WHERE writer = ?`), writer).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read the audit index: %w", err)
	}
	return uint64(max(seq, 0)), nil
}
