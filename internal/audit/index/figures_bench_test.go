// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// benchEntries is what the index has in benchmarks: ten days of an installation
// of 100,000 calls a day.
const benchEntries = 1_000_000

// fillForBench adds entries of 30 days, of 5,000 users with some servers each.
func fillForBench(b *testing.B, s *Store) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	statuses := audit.Statuses()
	c := newChain("w")
	records := make([]audit.Record, 0, batch)
	began := time.Now()
	for n := range benchEntries {
		user := int(5000 * math.Pow(r.Float64(), 3)) // Some call often.
		server := (user + int(4*math.Pow(r.Float64(), 2))) % 60
		e := audit.Entry{
			ID: fmt.Sprintf("entry-of-the-benchmark-%08d", n), Time: start.Add(time.Duration(n) * (30 * 24 * time.Hour / benchEntries)),
			UserID: fmt.Sprintf("user-%05d", user), Principal: audit.Principal{Kind: audit.KindUserKey, ID: "abcdefghijkl"}, ReportedBy: audit.Bridge,
			Call: audit.Call{
				Server: fmt.Sprintf("server-%02d", server), Tool: fmt.Sprintf("tool_of_some_length_%d", r.IntN(20)), Method: methods.CallTool,
				Status: audit.Success, LatencyMS: int64(math.Exp(2 + 2*r.NormFloat64())), BytesIn: 300, BytesOut: 3000, ParamKeys: []string{"owner", "repo", "path"}, ProtocolVersion: "2025-11-25",
			},
			SessionHash: "0123456789abcdef0123456789abcdef", SourceIPHash: "0123456789abcdef0123456789abcdef", UserAgent: "an agent/1.2.3 (of the benchmark)",
			TraceID: "0123456789abcdef0123456789abcdef", RequestID: "0123456789abcdef0123456789",
		}
		if r.IntN(20) == 0 {
			e.Status = statuses[r.IntN(len(statuses))]
		}
		if records = append(records, c.next(e)); len(records) == batch {
			must.Succeed(b, s.add(b.Context(), records))
			records = records[:0]
		}
	}
	b.Logf("%d entries added in %v", benchEntries, time.Since(began).Round(time.Millisecond))
}

func benchFigures(b *testing.B, s *Store) {
	fillForBench(b, s)
	if s.db.Shared {
		if _, err := s.db.ExecContext(b.Context(), "VACUUM ANALYZE audit_entries"); err != nil { // As the database does by itself.
			b.Fatal(err)
		}
	}
	end := start.Add(30 * 24 * time.Hour)
	for name, do := range map[string]func(ctx context.Context) error{
		"figures of 1,000,000 calls in 30 days": func(ctx context.Context) error {
			_, err := s.Figures(ctx, audit.FiguresQuery{From: start, To: end, Step: 24 * time.Hour, Top: 10})
			return err
		},
		"by the hour": func(ctx context.Context) error {
			_, err := s.Figures(ctx, audit.FiguresQuery{From: start, To: end, Step: time.Hour, Top: 10})
			return err
		},
		"figures of 33,333 calls in a day": func(ctx context.Context) error {
			_, err := s.Figures(ctx, audit.FiguresQuery{From: end.Add(-24 * time.Hour), To: end, Step: time.Hour, Top: 10})
			return err
		},
		"steps": func(ctx context.Context) error {
			_, err := s.countSteps(ctx, audit.FiguresQuery{From: start, To: end, Step: time.Hour})
			return err
		},
		"uses": func(ctx context.Context) error { _, err := s.Uses(ctx, start, end); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must.Succeed(b, do(b.Context()))
			}
		})
	}
}

func BenchmarkFiguresSQLite(b *testing.B) {
	s := must.Value(OpenSQLite(filepath.Join(b.TempDir(), "index")))(b)
	defer s.Close()
	benchFigures(b, s)
}

func BenchmarkFiguresPostgres(b *testing.B) {
	s := must.Value(OpenPostgres(cluster.Database(b)))(b)
	defer s.Close()
	benchFigures(b, s)
}
