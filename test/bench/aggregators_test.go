// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

// Package bench measures the bridge beside what a user would take instead, in
// one run, on loopback, and prints one table. Every load ends by itself.
package bench

import (
	"context"
	"encoding/json"
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

// way is one way to the upstream, called in one version of the protocol. start
// returns how a client connects, and the process that is measured.
type way struct {
	name, version string
	// alone says that the way is measured with one client only.
	alone bool
	start func(ctx context.Context, t *testing.T) (connect func() mcp.Transport, measured process)
}

// figures are what was measured of one load, in all rounds.
type figures struct {
	took []time.Duration
	long time.Duration
	used usage
}

// add adds what was measured in another round.
func (f *figures) add(more figures) {
	f.took, f.long, f.used = append(f.took, more.took...), f.long+more.long, f.used.plus(more.used)
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
		{"one upstream over streamable HTTP", tools.overHTTP()},
		{"one upstream over stdio", []way{tools.directStdio(), tools.bridgeStdio(), tools.mcpProxy(), tools.supergateway()}},
	}
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, "\n%s\n\n", g.title)
		table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "| way\t| version\t| clients\t| calls/s\t| p50 ms\t| added ms\t| p99 ms\t| CPU ms\t| KB\t| idle MB\t| loaded MB\t|")
		fmt.Fprintln(table, strings.Repeat("| ---\t", 11)+"|")
		measureGroup(t, table, g.ways)
		_ = table.Flush()
	}
	fmt.Fprintln(os.Stdout, out.String())
}

// running is a way that clients can go.
type running struct {
	way
	connect func() mcp.Transport
	process process
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
		group[i].connect, group[i].process = w.start(ctx, t)
		// One client that came and went, so that what is made on first use is there.
		if _, err := group[i].load(ctx, t, 1, 0); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
	}
	time.Sleep(settle)
	for i := range group {
		group[i].idle = group[i].process.resident(t)
	}
	for _, clients := range concurrencies {
		measured := make([]figures, len(group))
		for range rounds {
			for i, r := range group {
				if r.alone && clients > 1 {
					continue
				}
				f, err := r.load(ctx, t, clients, window)
				if err != nil {
					t.Fatalf("%s, %d clients: %v", r.name, clients, err)
				}
				measured[i].add(f)
			}
		}
		var direct time.Duration
		for i, r := range group {
			f := &measured[i]
			if len(f.took) == 0 {
				continue
			}
			if r.name == directly {
				direct = f.at(.5)
			}
			fmt.Fprintf(table, "| %s\t| %s\t| %d\t| %.0f\t| %.2f\t| %+.2f\t| %.2f\t| %s\t| %s\t| %s\t|\n", r.name, r.version, clients,
				float64(len(f.took))/f.long.Seconds(), ms(f.at(.5)), ms(f.at(.5)-direct), ms(f.at(.99)), f.used.each(len(f.took)), r.idle, r.process.resident(t))
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load has the clients call for that long.
func (r running) load(ctx context.Context, t *testing.T, clients int, long time.Duration) (figures, error) {
	t.Helper()
	var wait sync.WaitGroup
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(clients)
	for i := range clients {
		wait.Go(func() {
			session, err := begin(ctx, r.connect(), r.version)
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
	before, began := r.process.usage(t), time.Now()
	close(start)
	wait.Wait()
	f := figures{long: time.Since(began), used: r.process.usage(t).minus(before)}
	for _, err := range errs {
		if err != nil {
			return figures{}, err
		}
	}
	f.took = slices.Concat(took...)
	return f, nil
}

// begin opens a session and makes the calls that do not count.
func begin(ctx context.Context, transport mcp.Transport, version string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
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
		said, _ := json.Marshal(result.Content) // It comes from JSON.
		return 0, fmt.Errorf("call: not the tool's answer, isError %t: %.500s", result.IsError, said)
	}
	return took, nil
}
