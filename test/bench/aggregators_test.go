// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

// Package bench measures the bridge beside what a user would take instead, in
// one run, on loopback, and prints one table. Every load ends by itself.
package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/hostedbridge/hostedbridge/test/bench/ways"
)

// plan is how each group is measured.
var plan = ways.Plan{
	Clients: []int{1, 8}, Warmup: 200, Rounds: 4, Window: 3 * time.Second, Settle: 6 * time.Second, Timeout: 5 * time.Minute,
}

func TestAggregators(t *testing.T) {
	tools := prepare(t)
	groups := []struct {
		title string
		ways  []ways.Way
	}{
		{"one upstream over streamable HTTP", tools.overHTTP()},
		{"one upstream over stdio", []ways.Way{tools.directStdio(), tools.bridgeStdio(), tools.mcpProxy(), tools.supergateway()}},
	}
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, "\n%s\n\n", g.title)
		table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "| way\t| version\t| clients\t| calls/s\t| p50 ms\t| added ms\t| p99 ms\t| CPU ms\t| KB\t| idle MB\t| loaded MB\t|")
		fmt.Fprintln(table, strings.Repeat("| ---\t", 11)+"|")
		for _, r := range ways.Measure(t, plan, g.ways) {
			if r.Err != nil {
				t.Fatalf("%s, %d clients: %v", r.Name, r.Clients, r.Err)
			}
			fmt.Fprintf(table, "| %s\t| %s\t| %d\t| %.0f\t| %.2f\t| %+.2f\t| %.2f\t| %s\t| %s\t| %s\t| %s\t|\n", r.Name, r.Version, r.Clients,
				r.Rate, ways.MS(r.P50), ways.MS(r.Added), ways.MS(r.P99), r.CPUCell(), r.BytesCell(), r.Idle, r.Loaded)
		}
		_ = table.Flush()
	}
	fmt.Fprintln(os.Stdout, out.String())
}
