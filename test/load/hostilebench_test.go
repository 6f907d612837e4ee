// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load

package load

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/hostile"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// neighbourRate and goodRate are how many calls a second the neighbour makes, and the
	// user with hostile servers to the good one.
	neighbourRate, goodRate = 50, 10
	// hostileWorkers is how many calls to hostile servers there are at once: as many as
	// the tier free allows.
	hostileWorkers = 4
	// leaveAfter is when a client leaves a call that is not answered.
	leaveAfter = 500 * time.Millisecond
	// listEvery is how often a client asks for the lists of servers whose lists are not
	// well, and tries those again that are out of service.
	listEvery = 250 * time.Millisecond
	// wantedRatio is how much of its baseline the neighbour's p99 may be.
	wantedRatio = 1.5
)

// paced are the calls of one user at a rate.
type paced struct {
	mu     sync.Mutex
	took   []time.Duration
	failed int
}

// pace makes calls at their times, whether or not those before are answered, and counts
// each from its time. It returns when all are answered.
func (p *paced) pace(ctx context.Context, rate int, d time.Duration, call func(context.Context) bool) {
	var calls sync.WaitGroup
	defer calls.Wait()
	due, end := time.Now(), time.Now().Add(d)
	for due.Before(end) {
		<-time.After(time.Until(due))
		at := due
		calls.Go(func() {
			ok := call(ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.took = append(p.took, time.Since(at))
			if !ok {
				p.failed++
			}
		})
		due = due.Add(time.Second / time.Duration(rate))
	}
}

// at returns a percentile, in milliseconds.
func (p *paced) at(percent int) float64 {
	if len(p.took) == 0 {
		return 0
	}
	slices.Sort(p.took)
	return p.took[len(p.took)*percent/100].Seconds() * 1e3
}

// String returns the median and the 99th percentile.
func (p *paced) String() string { return fmt.Sprintf("%.1f, %.1f", p.at(50), p.at(99)) }

// add adds the calls of another.
func (p *paced) add(o *paced) {
	p.took = append(p.took, o.took...)
	p.failed += o.failed
}

// measured is what one kind of behavior came to.
type measured struct {
	name string
	rows int
	// quiet and under are the neighbour's calls without and with hostile servers, and good
	// those to the good server of the same bridge meanwhile.
	quiet, under, good paced
	// calls is how many calls of hostile tools, or lists, there were.
	calls int
	peak  float64
}

// TestHowMuchHostileServersSlowANeighbour measures another user's calls in turns, without
// and with a user whose servers misbehave, one kind of behavior after the other. It
// prints a table.
func TestHowMuchHostileServersSlowANeighbour(t *testing.T) {
	rounds, seconds := world.Number(t, "BENCH_ROUNDS", 3), world.Number(t, "BENCH_SECONDS", 5)
	i := install(t, 1+len(hostile.Kinds))
	g := i.startIngresses(t, 1)
	base := i.launchHostile(t)
	neighbour := call{of: g.startReals(t, len(hostile.Kinds), 1)[0].tenant, tool: realTool, modern: true}
	var all []*measured
	total := &measured{name: "all"}
	for n, kind := range hostile.Kinds {
		m := &measured{name: string(kind)}
		b := g.newOpponent(t, n, kind, base)
		for range rounds {
			d := time.Duration(seconds) * time.Second
			m.quiet.pace(t.Context(), neighbourRate, d, g.answers(neighbour))
			b.run(t, g, m, d, neighbour)
		}
		m.rows, m.peak = len(b.rows), b.process.Status(t, "VmHWM")-b.process.Status(t, "RssFile")
		b.process.Kill()
		all = append(all, m)
		total.rows, total.calls, total.peak = total.rows+m.rows, total.calls+m.calls, max(total.peak, m.peak)
		total.quiet.add(&m.quiet)
		total.under.add(&m.under)
		total.good.add(&m.good)
	}
	t.Logf("\n%s", hostileTable(append(all, total)))
	if total.under.failed > 0 {
		t.Errorf("%d calls of the neighbour failed", total.under.failed)
	}
	if ratio := total.under.at(99) / total.quiet.at(99); ratio > wantedRatio {
		t.Logf("the neighbour's p99 is %.2f times its baseline, the target is %.1f", ratio, wantedRatio)
	}
	g.expectAlive(t)
}

// answers returns a function that makes a call.
func (g *ingresses) answers(c call) func(context.Context) bool {
	return func(ctx context.Context) bool { return g.sendWithin(ctx, c).answered(c) }
}

// launchHostile starts the hostile servers as a process of their own, at the lowest
// priority: they are not part of what is measured.
func (i *installation) launchHostile(t *testing.T) string {
	t.Helper()
	program := filepath.Join(i.dir, "hostile")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/hostedbridge/hostedbridge/test/hostile/server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the hostile servers: %v: %s", err, out)
	}
	address := world.UnusedAddress(t)
	p := i.launch(t, "hostile servers", exec.Command("nice", "-n", "19", program, "-listen="+address))
	p.AwaitListener(t, address)
	return "http://" + address
}

// opponent is a user whose servers misbehave in one way.
type opponent struct {
	*hosted
	rows []hostile.Row
}

// newOpponent starts a bridge of a good server and those of a kind.
func (g *ingresses) newOpponent(t *testing.T, n int, kind hostile.Kind, base string) *opponent {
	t.Helper()
	b := &opponent{}
	var servers []bridgeconfig.Server
	for _, row := range hostile.Rows() {
		if row.Kind != kind {
			continue
		}
		if b.rows = append(b.rows, row); row.Serve != nil {
			servers = append(servers, bridgeconfig.Server{Name: row.Name, URL: hostile.URL(base, hostile.Old, row)})
		}
	}
	if len(servers) == 0 {
		for name, era := range eras {
			servers = append(servers, bridgeconfig.Server{Name: name, URL: hostile.URL(base, era, b.rows[0])})
		}
	}
	b.hosted = g.installation.newReal(t, n, servers...)
	good := call{of: b.tenant, tool: ownTool, modern: true}
	wait.Until(t, "an answer of the bridge of "+b.user, func() bool { return g.send(t.Context(), good).answered(good) })
	return b
}

// run has the servers misbehave for a time, while the neighbour calls.
func (b *opponent) run(t *testing.T, g *ingresses, m *measured, d time.Duration, neighbour call) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	client := &speaker{user: b.tenant, at: g.pick()}
	var parts sync.WaitGroup
	var mu sync.Mutex
	for w := range hostileWorkers {
		parts.Go(func() {
			for n := w; ctx.Err() == nil; n++ {
				b.misbehave(ctx, client, b.rows[n%len(b.rows)], n)
				mu.Lock()
				m.calls++
				mu.Unlock()
			}
		})
	}
	good := call{of: b.tenant, tool: ownTool, modern: true}
	parts.Go(func() { m.good.pace(t.Context(), goodRate, d, g.answers(good)) })
	m.under.pace(t.Context(), neighbourRate, d, g.answers(neighbour))
	parts.Wait()
	// The next baseline begins when everything is over.
	wait.UntilWithin(t, time.Minute, "an answer after "+m.name, func() bool { return g.send(t.Context(), good).answered(good) })
	b.process.AwaitCalm(t)
}

// misbehave calls the tool of a row, or lists the tools of all servers. A server that is
// out of service is tried again by a call.
func (b *opponent) misbehave(ctx context.Context, client *speaker, row hostile.Row, n int) {
	switch {
	case row.Serve != nil:
		_, _ = client.tools(ctx) // What comes of it is another test's.
		client.call(ctx, row.Name+"_"+hostile.Plain, "")
		<-time.After(listEvery)
	case row.Sees.Nothing:
		left, leave := context.WithTimeout(ctx, leaveAfter)
		defer leave()
		client.call(left, []string{"old_", "new_"}[n%2]+row.Name, "")
	default:
		client.call(ctx, []string{"old_", "new_"}[n%2]+row.Name, "")
	}
}

// hostileTable is the report.
func hostileTable(all []*measured) string {
	var b strings.Builder
	columns := []string{
		"servers", "behaviors", "hostile calls", "neighbour's p50, p99 before, ms", "and meanwhile", "p99 beside before", "failed",
		"good server of the same bridge p50, p99, ms", "failed", "bridge MB",
	}
	b.WriteString("| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %v | %v | %.2f | %d of %d | %v | %d of %d | %.0f |\n",
			m.name, m.rows, m.calls, &m.quiet, &m.under, m.under.at(99)/max(m.quiet.at(99), 0.001), m.under.failed, len(m.under.took),
			&m.good, m.good.failed, len(m.good.took), m.peak/1024)
	}
	return b.String()
}
