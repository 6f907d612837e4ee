// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

// Package bench measures the bridge beside what a user would take instead, in
// one run, on loopback, and prints one table. Every load ends by itself.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool answers at once, so that what is measured is the way to it.
const tool = "test_simple_text"

const (
	// warmup is how many calls go before those that are measured.
	warmup = 200
	// rounds is how often each load is repeated. The ways of a group take turns, so
	// that a machine that is slower for a while is slower for all of them.
	rounds = 4
	// window is how long each load lasts in a round.
	window = 3 * time.Second
	// settle is how long a process may rest before its idle memory is read.
	settle = 6 * time.Second
	// groupTimeout bounds all ways of a group.
	groupTimeout = 5 * time.Minute
)

// concurrencies are how many clients call at a time, each in a session of its
// own.
var concurrencies = []int{1, 8}

// way is one way to the upstream. start returns how a client connects, and the
// process whose memory counts, 0 for none.
type way struct {
	name  string
	start func(ctx context.Context, t *testing.T) (connect func() mcp.Transport, pid int)
}

// figures are what was measured of one load, in all rounds.
type figures struct {
	took []time.Duration
	long time.Duration
}

// add adds what was measured in another round.
func (f *figures) add(more figures) {
	f.took, f.long = append(f.took, more.took...), f.long+more.long
}

// at returns how long the given part of the calls took at most.
func (f *figures) at(part float64) time.Duration {
	if len(f.took) == 0 {
		return 0
	}
	slices.Sort(f.took)
	return f.took[int(part*float64(len(f.took)-1))]
}

func TestAggregators(t *testing.T) {
	tools := prepare(t)
	groups := []struct {
		title string
		ways  []way
	}{
		{"one upstream over streamable HTTP", []way{tools.directHTTP(), tools.bridgeHTTP()}},
		{"one upstream over stdio", []way{tools.directStdio(), tools.bridgeStdio(), tools.mcpProxy(), tools.supergateway()}},
	}
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, "\n%s\n\n", g.title)
		table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "| way\t| clients\t| calls/s\t| p50 ms\t| added ms\t| p99 ms\t| idle MB\t| loaded MB\t|")
		fmt.Fprintln(table, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
		measureGroup(t, table, g.ways)
		_ = table.Flush()
	}
	fmt.Fprintln(os.Stdout, out.String())
}

// running is a way that clients can go.
type running struct {
	way
	connect func() mcp.Transport
	pid     int
	idle    string
}

// measureGroup runs the loads on all ways in turn and writes their rows.
func measureGroup(t *testing.T, table io.Writer, ways []way) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), groupTimeout)
	defer cancel()
	group := make([]running, len(ways))
	for i, w := range ways {
		group[i].way = w
		group[i].connect, group[i].pid = w.start(ctx, t)
		// One client that came and went, so that what is made on first use is there.
		if _, err := load(ctx, group[i].connect, 1, 0); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
	}
	time.Sleep(settle)
	for i := range group {
		group[i].idle = resident(t, group[i].pid)
	}
	for _, clients := range concurrencies {
		measured := make([]figures, len(group))
		for range rounds {
			for i, r := range group {
				f, err := load(ctx, r.connect, clients, window)
				if err != nil {
					t.Fatalf("%s, %d clients: %v", r.name, clients, err)
				}
				measured[i].add(f)
			}
		}
		for i, r := range group {
			f := &measured[i]
			fmt.Fprintf(table, "| %s\t| %d\t| %.0f\t| %.2f\t| %+.2f\t| %.2f\t| %s\t| %s\t|\n", r.name, clients,
				float64(len(f.took))/f.long.Seconds(), ms(f.at(.5)), ms(f.at(.5)-measured[0].at(.5)), ms(f.at(.99)), r.idle, resident(t, r.pid))
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load has the clients call for that long.
func load(ctx context.Context, connect func() mcp.Transport, clients int, long time.Duration) (figures, error) {
	var wait sync.WaitGroup
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(clients)
	for i := range clients {
		wait.Go(func() {
			session, err := begin(ctx, connect())
			ready.Done()
			if err != nil {
				errs[i] = err
				return
			}
			defer session.Close()
			<-start
			took[i], errs[i] = repeat(ctx, session, long)
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return figures{}, err
		}
	}
	return figures{slices.Concat(took...), time.Since(began)}, nil
}

// begin opens a session and makes the calls that do not count.
func begin(ctx context.Context, transport mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	for range warmup {
		if _, err := call(ctx, session); err != nil {
			_ = session.Close()
			return nil, err
		}
	}
	return session, nil
}

func repeat(ctx context.Context, session *mcp.ClientSession, long time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	for end := time.Now().Add(long); time.Now().Before(end); {
		d, err := call(ctx, session)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// call makes one call and looks at its answer: a fast error is no speed.
func call(ctx context.Context, session *mcp.ClientSession) (time.Duration, error) {
	began := time.Now()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("call: %w", err)
	}
	if result.IsError || len(result.Content) != 1 {
		return 0, fmt.Errorf("call: not the tool's answer: %d contents, isError %t", len(result.Content), result.IsError)
	}
	return took, nil
}
