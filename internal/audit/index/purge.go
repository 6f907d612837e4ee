// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// purgeBatch is how many entries one statement removes, so that nobody waits
// long for the one who does.
const purgeBatch = 5000

// purgeUsers is how many users one call of purge is for, so that one over HTTP
// has an end.
const purgeUsers = 200

// purge removes the entries that are no longer kept, and returns how many.
func (x *Index) purge(ctx context.Context) (removed int64, err error) {
	if err := x.prepare(ctx); err != nil {
		return 0, err
	}
	users, err := x.store.users(ctx)
	if err != nil {
		return 0, err
	}
	now := x.now()
	for some := range slices.Chunk(users, purgeUsers) {
		before := make(map[string]time.Time, len(some))
		for _, user := range some {
			before[user] = now.Add(-x.config.Keep(user))
		}
		n, err := x.store.purge(ctx, before)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// purge implements storage.
func (s *Store) purge(ctx context.Context, before map[string]time.Time) (removed int64, err error) {
	for user, at := range before {
		n, err := s.purgeUser(ctx, user, at)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// users returns whose entries there are, each found by one step in the index by
// user: the database itself would read all entries for DISTINCT.
func (s *Store) users(ctx context.Context) ([]string, error) {
	var users []string
	statement := s.db.Bind(`SELECT user_id FROM audit_entries WHERE user_id > ? ORDER BY user_id LIMIT 1`)
	var entries int
	// That of nobody is first: no user is empty.
	if err := s.db.QueryRowContext(ctx, s.db.Bind(`SELECT COUNT(*) FROM (SELECT 1 FROM audit_entries WHERE user_id = ? LIMIT 1) AS found`), "").Scan(&entries); err != nil {
		return nil, fmt.Errorf("list users in the audit index: %w", err)
	}
	if entries > 0 {
		users = append(users, "")
	}
	for last := ""; ; {
		next, found, err := s.oneString(ctx, statement, last)
		if err != nil {
			return nil, fmt.Errorf("list users in the audit index: %w", err)
		}
		if !found {
			return users, nil
		}
		users, last = append(users, next), next
	}
}

func (s *Store) oneString(ctx context.Context, statement string, arg any) (value string, found bool, err error) {
	rows, err := s.db.QueryContext(ctx, statement, arg)
	if err != nil {
		return "", false, err
	}
	defer rows.Close() //nolint:errcheck // Err has what went wrong.
	if rows.Next() {
		found = true
		if err := rows.Scan(&value); err != nil {
			return "", false, err
		}
	}
	return value, found, rows.Err()
}

const purgeUser = `DELETE FROM audit_entries WHERE (writer, seq) IN
	(SELECT writer, seq FROM audit_entries WHERE user_id = ? AND time_ms < ? LIMIT ?)`

func (s *Store) purgeUser(ctx context.Context, user string, before time.Time) (removed int64, err error) {
	for {
		n, err := s.db.DeleteAlone(ctx, purgeLock, purgeUser, user, before.UnixMilli(), purgeBatch)
		if err != nil {
			return removed, fmt.Errorf("remove old entries from the audit index: %w", err)
		}
		if removed += n; n < purgeBatch {
			return removed, nil
		}
	}
}
