// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ways has the ways of a call to an MCP server that benchmarks compare, and
// measures them in one run, on loopback. Every load ends by itself. The package is
// only imported by tests.
package ways

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool answers at once, so that what is measured is the way to it.
const tool = "test_simple_text"

// Directly is the name of the ways that lead to the upstream itself. What the
// ways below one add is compared with it.
const Directly = "direct"

// patience is how long the clients of a load may take beside its time: to connect,
// and to make the calls that do not count.
const patience = 2 * time.Minute

// together is how many clients connect at once: the ingress lets a user begin only a few
// sessions at once.
const together = 8

// Way is one way to the upstream, called in one version of the protocol. Start
// returns how a client connects, and the processes that are measured.
type Way struct {
	Name, Version string
	// Tool is the name of the tool to clients, empty where that is the upstream's.
	Tool string
	// Most is how many clients the way is measured with at most, 0 for any number.
	Most  int
	Start func(t *testing.T) (connect func() mcp.Transport, measured Process)
}

// tooMany reports whether the way is not measured with so many clients.
func (w Way) tooMany(clients int) bool { return w.Most > 0 && clients > w.Most }

// Plan says how ways are measured.
type Plan struct {
	// Clients are how many clients call at a time, each in a session of its own.
	Clients []int
	// Warmup is how many calls of a client go before those that are measured.
	Warmup int
	// Rounds is how often each load is repeated, and Window how long it lasts. The
	// ways take turns, so that a machine that is slower for a while is slower for all
	// of them.
	Rounds int
	Window time.Duration
	// Settle is how long processes may rest before their idle memory is read.
	Settle time.Duration
	// Timeout bounds everything.
	Timeout time.Duration
}

// Row is what was measured of a way with so many clients, in all rounds.
type Row struct {
	Way
	Clients int
	Calls   int
	Rate    float64
	// P50 and P99 are how long half of the calls and 99 of a hundred took at most.
	// Added is the median without that of the direct way.
	P50, Added, P99 time.Duration
	Used            Usage
	// Idle and Loaded are the resident memory before all loads and after this one, in
	// MB, or "-" for no process.
	Idle, Loaded string
	// Err is why there are no figures.
	Err error
}

// running is a way that clients can go.
type running struct {
	Way
	Process
	connect func() mcp.Transport
	warmup  int
	idle    string
	// failed is why the first client had no answer.
	failed error
}

// Measure runs the loads on all ways in turn.
func Measure(t *testing.T, plan Plan, all []Way) []Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), plan.Timeout)
	defer cancel()
	group := make([]running, len(all))
	for i, w := range all {
		group[i] = running{Way: w, warmup: plan.Warmup}
		group[i].connect, group[i].Process = w.Start(t)
		// One client that came and went, so that what is made on first use is there.
		group[i].failed = group[i].load(ctx, t, 1, 0).err
	}
	time.Sleep(plan.Settle)
	for i := range group {
		group[i].idle = group[i].Resident()
	}
	var rows []Row
	for _, clients := range plan.Clients {
		measured := make([]figures, len(group))
		for range plan.Rounds {
			for i, r := range group {
				measured[i].err = cmp.Or(measured[i].err, r.failed)
				if r.tooMany(clients) || measured[i].err != nil {
					continue
				}
				measured[i].add(r.load(ctx, t, clients, plan.Window))
				r.awaitCalm()
			}
		}
		var direct time.Duration
		for i, r := range group {
			if r.tooMany(clients) {
				continue
			}
			row := measured[i].row()
			if r.Name == Directly {
				direct = row.P50
			}
			row.Way, row.Clients, row.Added, row.Idle, row.Loaded = r.Way, clients, row.P50-direct, r.idle, r.Resident()
			rows = append(rows, row)
		}
	}
	return rows
}

// figures are what was measured of one load, in all rounds.
type figures struct {
	took []time.Duration
	long time.Duration
	used Usage
	err  error
}

// add adds what was measured in another round.
func (f *figures) add(more figures) {
	f.took, f.long, f.used, f.err = append(f.took, more.took...), f.long+more.long, f.used.plus(more.used), cmp.Or(f.err, more.err)
}

// row returns the figures as a row.
func (f *figures) row() Row {
	if f.err != nil || len(f.took) == 0 {
		return Row{Err: cmp.Or(f.err, fmt.Errorf("no calls"))}
	}
	slices.Sort(f.took)
	at := func(part float64) time.Duration { return f.took[int(part*float64(len(f.took)-1))] }
	return Row{Calls: len(f.took), Rate: float64(len(f.took)) / f.long.Seconds(), P50: at(.5), P99: at(.99), Used: f.used}
}

// MS returns a time in milliseconds.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load has the clients call for that long.
func (r running) load(ctx context.Context, t *testing.T, clients int, long time.Duration) figures {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, long+patience)
	defer cancel()
	var wait sync.WaitGroup
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(clients)
	connecting := make(chan struct{}, together)
	for i := range clients {
		wait.Go(func() {
			connecting <- struct{}{}
			session, err := r.begin(ctx)
			<-connecting
			ready.Done()
			if err != nil {
				errs[i] = err
				return
			}
			defer session.Close()
			<-start
			took[i], errs[i] = r.repeat(ctx, session, long)
		})
	}
	ready.Wait()
	before, began := r.Usage(t), time.Now()
	close(start)
	wait.Wait()
	return figures{took: slices.Concat(took...), long: time.Since(began), used: r.Usage(t).minus(before), err: cmp.Or(errs...)}
}

// begin opens a session and makes the calls that do not count.
func (r running) begin(ctx context.Context) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, r.connect(), &mcp.ClientSessionOptions{ProtocolVersion: r.Version})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	for range r.warmup {
		if _, err := r.call(ctx, session); err != nil {
			_ = session.Close()
			return nil, err
		}
	}
	return session, nil
}

func (r running) repeat(ctx context.Context, session *mcp.ClientSession, long time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	for end := time.Now().Add(long); time.Now().Before(end); {
		d, err := r.call(ctx, session)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// call makes one call and looks at its answer: a fast error is no speed.
func (r running) call(ctx context.Context, session *mcp.ClientSession) (time.Duration, error) {
	began := time.Now()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: cmp.Or(r.Tool, tool)})
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
