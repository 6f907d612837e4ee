// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load

package load

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/bench/ways"
	"github.com/hostedbridge/hostedbridge/test/load/world"
)

// TestWholeChain measures calls through a whole installation, beside what one would take
// instead, in turns. It prints a table.
func TestWholeChain(t *testing.T) {
	plan := ways.Plan{
		Clients: []int{1, 32, 256},
		// 256 clients make 2560 calls before those that count.
		Warmup: 10,
		Rounds: world.Number(t, "BENCH_ROUNDS", 4), Window: time.Duration(world.Number(t, "BENCH_SECONDS", 3)) * time.Second,
		Settle: settled, Timeout: 25 * time.Minute,
	}
	buildShipped(t, "keybroker", "ingress", "bridgepod")
	p := ways.Prepare(t, "vmcp", "thv")
	// A bridge has at most 128 sessions.
	ours := []ways.Way{p.Direct(ways.Sessions), chain("hosted-bridge", p, 1, 32), chain("hosted-bridge, 4 users", p, 4, 256)}
	var table strings.Builder
	table.WriteString("| way | clients | calls/s | p50 ms | added ms | p99 ms | CPU ms a call | idle MB | loaded MB |\n" + strings.Repeat("| --- ", 9) + "|\n")
	for _, r := range ways.Measure(t, plan, append(ours, p.Toolhive(), p.ToolhiveProxy(), p.MCPHub())) {
		switch {
		case r.Err == nil:
			fmt.Fprintf(&table, "| %s | %d | %.0f | %.2f | %+.2f | %.2f | %s | %s | %s |\n", r.Name, r.Clients,
				r.Rate, ways.MS(r.P50), ways.MS(r.Added), ways.MS(r.P99), r.CPUCell(), r.Idle, r.Loaded)
		case slices.ContainsFunc(ours, func(w ways.Way) bool { return w.Name == r.Name }):
			t.Errorf("%s, %d clients: %v", r.Name, r.Clients, r.Err)
		default:
			t.Logf("%s, %d clients: %v", r.Name, r.Clients, r.Err)
			said := r.Err.Error()
			fmt.Fprintf(&table, "| %s | %d | fails: %s | - | - | - | - | %s | %s |\n", r.Name, r.Clients, strings.TrimSpace(said[strings.LastIndex(said, ": ")+1:]), r.Idle, r.Loaded)
		}
	}
	t.Logf("%d rounds of %v each\n\n%s", plan.Rounds, plan.Window, &table)
}

// chain is the way through an installation of so many users, whose clients take turns. The
// bridges have two servers each, so that the names of tools have a prefix.
func chain(name string, p ways.Programs, users, most int) ways.Way {
	return ways.Way{Name: name, Version: ways.Sessions, Tool: "everything_test_simple_text", Most: most, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
		i := install(t, users)
		g := i.newIngresses(t)
		g.flags = []string{"--audit-max-bytes=104857600"} // As without the flag.
		ingress := g.startNew(t)
		g.add(ingress)
		measured := ways.Process{PIDs: []int{ingress.Cmd.Process.Pid, i.keybrokerProcess.Cmd.Process.Pid}}
		upstream := p.Upstream(t, ways.Sessions)
		connects := make([]func() mcp.Transport, users)
		for n := range connects {
			b := i.newReal(t, n, bridgeconfig.Server{Name: "everything", URL: upstream})
			connects[n] = ways.OverHTTP(t, ingress.base()+"/u/"+b.user+"/mcp", b.key)
			measured.PIDs = append(measured.PIDs, b.process.Cmd.Process.Pid)
		}
		var next atomic.Int64
		return func() mcp.Transport { return connects[int(next.Add(1))%users]() }, measured
	}}
}
