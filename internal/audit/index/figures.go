// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// inTime is of the calls of a time. The index by time has all columns that the
// statements below name, so that entries themselves are not read.
const inTime = ` FROM audit_entries WHERE time_ms >= ? AND time_ms < ? AND method = '` + methods.CallTool + `'`

// ofUser is inTime of one user, whose entries another index has in order, and ofBridge is
// ofUser of one of their HostedBridges.
const (
	ofUser   = inTime + ` AND user_id = ?`
	ofBridge = ofUser + ` AND bridge_uid = ?`
)

// shortened is a latency to two digits, so that a graph has as many different
// ones as a screen has lines, and not as many as calls.
const shortened = `CASE WHEN latency_ms < 100 THEN latency_ms
	WHEN latency_ms < 1000 THEN latency_ms / 10 * 10
	WHEN latency_ms < 10000 THEN latency_ms / 100 * 100
	WHEN latency_ms < 100000 THEN latency_ms / 1000 * 1000
	WHEN latency_ms < 1000000 THEN latency_ms / 10000 * 10000
	ELSE 1000000 END`

// statements count the calls of a time.
type statements struct{ steps, users, tools, uses string }

var ofAll, ofOneUser, ofOneBridge = statementsOf(inTime), statementsOf(ofUser), statementsOf(ofBridge)

// statementsOf returns the statements about the calls that a FROM and its WHERE mean.
func statementsOf(calls string) statements {
	tally := `COUNT(*) AS calls, SUM(CASE WHEN status IN (` + failed() + `) THEN 1 ELSE 0 END)`
	return statements{
		steps: `SELECT time_ms / ?, status, ` + shortened + `, COUNT(*)` + calls + ` GROUP BY 1, 2, 3`,
		users: `SELECT step, COUNT(*) FROM (SELECT DISTINCT time_ms / ? AS step, user_id` + calls + ` AND user_id <> '') AS users GROUP BY step`,
		tools: `SELECT server, tool, ` + tally + calls + ` AND server <> '' GROUP BY server, tool ORDER BY calls DESC, server, tool LIMIT ?`,
		uses:  `SELECT user_id, server, ` + tally + calls + ` GROUP BY user_id, server ORDER BY calls DESC, user_id, server LIMIT ?`,
	}
}

// meant returns the statements for a query, and their arguments in the place of the calls.
func meant(q audit.FiguresQuery) (statements, []any) {
	args := []any{q.From.UnixMilli(), q.To.UnixMilli()}
	switch {
	case q.UserID == "":
		return ofAll, args
	case q.BridgeUID == "":
		return ofOneUser, append(args, q.UserID)
	}
	return ofOneBridge, append(args, q.UserID, q.BridgeUID)
}

// failed returns the statuses that have Failed, as SQL has them.
func failed() string {
	var quoted []string
	for _, status := range audit.Statuses() {
		if status.Failed() {
			quoted = append(quoted, "'"+string(status)+"'")
		}
	}
	return strings.Join(quoted, ", ")
}

// Figures returns how much was called. Each figure is counted by itself: what is
// written meanwhile may be in one and not in the other. Its Lag is left to the
// follower.
func (s *Store) Figures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	f, err := s.countSteps(ctx, q)
	if err != nil {
		return f, err
	}
	f.Shared = s.db.Shared
	statements, args := meant(q)
	count := func(rows *sql.Rows) error {
		var c audit.ToolCalls
		err := rows.Scan(&c.Server, &c.Tool, &c.Calls, &c.Errors)
		f.Tools = append(f.Tools, c)
		return err
	}
	if err := s.each(ctx, statements.tools, count, append(args, max(1, min(q.Top, audit.MaxTop)))...); err != nil {
		return f, err
	}
	f.Uses, err = s.countUses(ctx, q)
	return f, err
}

// Uses returns who called which server from that time on and before this one,
// the most calls first, and MaxUses at most.
func (s *Store) Uses(ctx context.Context, from, to time.Time) ([]audit.Use, error) {
	return s.countUses(ctx, audit.FiguresQuery{From: from, To: to})
}

func (s *Store) countUses(ctx context.Context, q audit.FiguresQuery) (uses []audit.Use, err error) {
	statements, args := meant(q)
	err = s.each(ctx, statements.uses, func(rows *sql.Rows) error {
		var u audit.Use
		err := rows.Scan(&u.UserID, &u.Server, &u.Calls, &u.Errors)
		uses = append(uses, u)
		return err
	}, append(args, audit.MaxUses)...)
	return uses, err
}

// each asks for rows, and hands each of them on.
func (s *Store) each(ctx context.Context, statement string, each func(*sql.Rows) error, args ...any) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, s.db.Bind(statement), args...)
	if err != nil {
		return fmt.Errorf("count in the audit index: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err has what went wrong.
	for rows.Next() {
		if err := each(rows); err != nil {
			return fmt.Errorf("count in the audit index: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("count in the audit index: %w", err)
	}
	return nil
}

// countSteps returns the steps and their total.
func (s *Store) countSteps(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	sums := map[int64]*sum{}
	total := newSum()
	step := q.Step.Milliseconds()
	statements, args := meant(q)
	err := s.each(ctx, statements.steps, func(rows *sql.Rows) error {
		var at, ms, n int64
		var status audit.Status
		if err := rows.Scan(&at, &status, &ms, &n); err != nil {
			return err
		}
		if sums[at] == nil {
			sums[at] = newSum()
		}
		sums[at].add(status, ms, n)
		total.add(status, ms, n)
		return nil
	}, append([]any{step}, args...)...)
	if err != nil {
		return audit.Figures{}, err
	}
	users := map[int64]int64{}
	err = s.each(ctx, statements.users, func(rows *sql.Rows) error {
		var at, n int64
		err := rows.Scan(&at, &n)
		users[at] = n
		return err
	}, append([]any{step}, args...)...)
	if err != nil {
		return audit.Figures{}, err
	}
	f := audit.Figures{Total: total.calls()}
	for _, start := range q.Starts() {
		part := audit.Step{Start: start, Users: users[start.UnixMilli()/step]}
		if of := sums[start.UnixMilli()/step]; of != nil {
			part.Calls = of.calls()
		}
		f.Steps = append(f.Steps, part)
	}
	return f, nil
}

// sum is what a step is made of.
type sum struct {
	byStatus map[audit.Status]int64
	took     audit.Histogram
}

func newSum() *sum { return &sum{map[audit.Status]int64{}, audit.Histogram{}} }

func (s *sum) add(status audit.Status, ms, n int64) {
	s.byStatus[status] += n
	if !status.Refused() {
		s.took[ms] += n
	}
}

func (s *sum) calls() audit.Calls {
	return audit.Calls{ByStatus: s.byStatus, Latency: s.took.Latency()}
}

// Figures returns how much was called.
func (x *Index) Figures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	f, err := x.store.Figures(ctx, q)
	f.Lag = x.lag()
	return f, err
}

// Uses returns who called which server from that time on and before this one,
// the most calls first, and audit.MaxUses at most.
func (x *Index) Uses(ctx context.Context, from, to time.Time) ([]audit.Use, error) {
	return x.store.Uses(ctx, from, to)
}
