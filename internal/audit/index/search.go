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
	page, chains := audit.Page{Shared: s.db.Shared}, chains{}
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
		chains.add(at)
	}
	if err := rows.Err(); err != nil {
		return audit.Page{}, fmt.Errorf("ask the audit index: %w", err)
	}
	if q.Lines {
		// The rows have been read to their end, or need not be.
		_ = rows.Close()
		page.Lines, err = s.countLines(ctx, chains)
	}
	return page, err
}

// chains are the first and last line of each writer's chain that a page has.
type chains map[string][2]uint64

func (c chains) add(at audit.Position) {
	span, known := c[at.Writer]
	if !known {
		span = [2]uint64{at.Seq, at.Seq}
	}
	c[at.Writer] = [2]uint64{min(span[0], at.Seq), max(span[1], at.Seq)}
}

// countLines returns how many lines are between the ends of chains, and how many of them
// are not here, nil if there are too many to count.
func (s *Store) countLines(ctx context.Context, of chains) (*audit.Lines, error) {
	lines := &audit.Lines{}
	for _, span := range of {
		lines.Count += int64(span[1] - span[0] + 1) //nolint:gosec // Nobody writes 2^63 lines.
	}
	if lines.Count > audit.MaxLines {
		return nil, nil
	}
	lines.Missing = lines.Count
	statement := s.db.Bind(`SELECT COUNT(*) FROM audit_entries WHERE writer = ? AND seq BETWEEN ? AND ?`)
	for writer, span := range of {
		var here int64
		if err := s.db.QueryRowContext(ctx, statement, writer, int64(span[0]), int64(span[1])).Scan(&here); err != nil { //nolint:gosec // As above.
			return nil, fmt.Errorf("count lines in the audit index: %w", err)
		}
		lines.Missing -= here
	}
	return lines, nil
}

// conditions returns the query's WHERE, of constants and placeholders alone.
func conditions(q audit.Query) (where string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all, args = append(all, condition), append(args, values...)
	}
	for _, c := range []struct{ column, value string }{
		{"user_id", q.UserID}, {"bridge_uid", q.BridgeUID}, {"server", q.Server}, {"tool", q.Tool}, {"status", string(q.Status)},
	} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if q.NoViews {
		add("NOT (method LIKE ? AND (method LIKE '%.list' OR method LIKE '%.get' OR method LIKE '%.query'))", audit.AdminPrefix+"%")
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
