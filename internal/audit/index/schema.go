// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/database"
)

// schemaVersion is that of the tables below.
const schemaVersion = 1

// Replicas exclude each other from making the tables, and from removing entries.
// The numbers are of no meaning but that all replicas use them.
const prepareLock, purgeLock = 7203498150, 7203498151

// schema is the same for all databases: what both know by the same name.
// time_ms are Unix milliseconds. entry is the entry as the trail has it, and
// the other columns are what is asked by.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS audit_entries (
		writer TEXT NOT NULL,
		seq BIGINT NOT NULL,
		time_ms BIGINT NOT NULL,
		user_id TEXT NOT NULL,
		bridge_uid TEXT NOT NULL,
		server TEXT NOT NULL,
		tool TEXT NOT NULL,
		method TEXT NOT NULL,
		status TEXT NOT NULL,
		latency_ms BIGINT NOT NULL,
		entry TEXT NOT NULL,
		PRIMARY KEY (writer, seq)
	)`,
	// The columns behind the line are there for figures, which are counted in the
	// index alone.
	`CREATE INDEX IF NOT EXISTS audit_entries_of_time ON audit_entries (time_ms, writer, seq, method, status, latency_ms, user_id, server, tool)`,
	`CREATE INDEX IF NOT EXISTS audit_entries_by_user ON audit_entries (user_id, time_ms, writer, seq)`,
	// Up to which line each chain has been read.
	`CREATE TABLE IF NOT EXISTS audit_progress (writer TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL)`,
}

// prepared implements storage.
func (s *Store) prepared() bool { return s.made.Load() }

// prepare opens the database and makes the tables where they are missing. What
// else there is in a store is of use only behind it.
func (s *Store) prepare(ctx context.Context) error {
	if s.prepared() {
		return nil
	}
	if err := s.find(); err != nil {
		return err
	}
	err := s.db.Prepare(ctx, database.Schema{
		Table: "audit_schema", Version: schemaVersion, Statements: schema, Lock: prepareLock,
	})
	if err != nil {
		return fmt.Errorf("prepare the audit index: %w", err)
	}
	s.made.Store(true)
	return nil
}
