// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load

package load

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/stalled"
)

// stalledRow is one way not to read answers: so many requests on each of so many connections.
type stalledRow struct {
	name                  string
	connections, requests int
	fields                []string
}

// TestWhatUnreadAnswersTake has clients not read answers, and measures the ingress's memory
// beside its idle size and a neighbour's calls beside those before. It prints a table.
func TestWhatUnreadAnswersTake(t *testing.T) {
	seconds := time.Duration(world.Number(t, "BENCH_SECONDS", 5)) * time.Second
	i := install(t, 2)
	g := i.startIngresses(t, 1)
	reals := g.startReals(t, 0, 2)
	neighbour := call{of: reals[0].tenant, tool: realTool, modern: true}
	attacker := reals[1].tenant
	get := func(path, key string) []string {
		fields := []string{":method", "GET", ":scheme", "http", ":authority", "x", ":path", path}
		if key != "" {
			fields = append(fields, "authorization", "Bearer "+key)
		}
		return fields
	}
	r := g.pick()
	var table strings.Builder
	table.WriteString("\n| answers | connections, requests each | statuses | resident before, MB | highest meanwhile, MB | ratio | neighbour's p50, p99 before, ms | and meanwhile | failed |\n|" + strings.Repeat(" --- |", 9) + "\n")
	for _, row := range []stalledRow{
		{"of a user's tools", 1, 900, get("/u/"+attacker.user+"/tools?limit=200", attacker.key)},
		{"of a user's servers", 1, 900, get("/u/"+attacker.user+"/servers", attacker.key)},
		{"that refuse a stranger", 4, 500, get("/u/nobody/mcp", "")},
		{"of no such path", 4, 500, get("/nothing", "")},
	} {
		var quiet, under paced
		quiet.pace(t.Context(), neighbourRate, seconds, g.answers(neighbour))
		idle := r.Status(t, "VmRSS")
		ctx, stop := context.WithTimeout(t.Context(), seconds)
		statuses := row.begin(ctx, t, r.Public)
		highest := make(chan float64)
		go func() {
			var most float64
			for ; ctx.Err() == nil; <-time.After(50 * time.Millisecond) {
				most = max(most, r.Status(t, "VmRSS"))
			}
			highest <- most
		}()
		under.pace(t.Context(), neighbourRate, seconds, g.answers(neighbour))
		stop()
		most := <-highest
		fmt.Fprintf(&table, "| %s | %d, %d | %v | %.0f | %.0f | %.2f | %v | %v | %d |\n",
			row.name, row.connections, row.requests, statuses, idle/1024, most/1024, most/idle, &quiet, &under, under.failed)
		if under.failed > 0 {
			t.Errorf("%s: %d calls of the neighbour failed", row.name, under.failed)
		}
		r.AwaitCalm(t)
	}
	t.Log(table.String())
	g.expectAlive(t)
}

// begin makes the requests, whose answers wait until ctx ends.
func (s stalledRow) begin(ctx context.Context, t *testing.T, address string) map[int]int {
	t.Helper()
	all := map[int]int{}
	for range s.connections {
		conn := must.Value(net.Dial("tcp", address))(t)
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		for status, n := range must.Value(stalled.Ask(conn, s.requests, s.fields...))(t) {
			all[status] += n
		}
	}
	return all
}
