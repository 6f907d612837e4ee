// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// Search returns a page of entries. Its Lag is left to the follower.
func (s *Store) Search(ctx context.Context, q audit.Query) (audit.Page, error) {
	if err := s.prepare(ctx); err != nil {
		return audit.Page{}, err
	}
	limit := max(1, min(q.Limit, audit.MaxPage))
	where, args := conditions(q)
	// One more than is shown tells whether there is a next page.
	statement := `SELECT time_ms, writer, seq, entry FROM audit_entries` + where + ` ORDER BY time_ms DESC, writer DESC, seq DESC LIMIT ?`
	rows, err := s.db.QueryContext(ctx, s.db.Bind(statement), append(args, limit+1)...)
	if err != nil {
		return audit.Page{}, fmt.Errorf("ask the audit index: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err has what went wrong.
	page := audit.Page{Shared: s.db.Shared}
	var last audit.Position
	for rows.Next() {
		if len(page.Entries) == limit {
			page.Next = &last
			break
		}
		var text string
		var at audit.Position
		if err := rows.Scan(&at.TimeMS, &at.Writer, &at.Seq, &text); err != nil {
			return audit.Page{}, fmt.Errorf("ask the audit index: %w", err)
		}
		var e audit.Entry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return audit.Page{}, fmt.Errorf("entry %d of %s in the audit index: %w", at.Seq, at.Writer, err)
		}
		page.Entries, last = append(page.Entries, e), at
	}
	if err := rows.Err(); err != nil {
		return audit.Page{}, fmt.Errorf("ask the audit index: %w", err)
	}
	return page, nil
}

// conditions returns the query's WHERE, of constants and placeholders alone.
func conditions(q audit.Query) (where string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all, args = append(all, condition), append(args, values...)
	}
	for _, c := range []struct{ column, value string }{
		{"user_id", q.UserID}, {"server", q.Server}, {"tool", q.Tool}, {"status", string(q.Status)},
	} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if !q.From.IsZero() {
		add("time_ms >= ?", q.From.UnixMilli())
	}
	if !q.To.IsZero() {
		add("time_ms < ?", q.To.UnixMilli())
	}
	if p := q.Before; p != nil {
		add("(time_ms, writer, seq) < (?, ?, ?)", p.TimeMS, p.Writer, int64(p.Seq)) //nolint:gosec // ParseCursor takes 63 bits.
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}
