// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/hostile"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// hostileAtOnce is how many users with hostile servers there are at once. Most of
	// them wait.
	hostileAtOnce = 8
	// neighbourEvery is how often the neighbour calls.
	neighbourEvery = 50 * time.Millisecond
	// metBefore is how often a bridge comes to what a server does that it refuses: twice
	// for an attempt to connect, and then again.
	metBefore = 3
	// mostAnswers is how many pings and questions all bridges may answer at once, of
	// which hostileAtOnce are there at once.
	mostAnswers = 1000
	// ownTool is the good server's tool in a bridge with several servers.
	ownTool = "own_" + realTool
)

// eras are the names of the hostile servers of a bridge with their paths.
var eras = map[string]string{"old": hostile.Old, "new": hostile.New}

// victim is a user with hostile servers of both eras and a good one.
type victim struct {
	*hosted
	server *hostile.Server
	// clients are sessions of the era of the server by its name, so that both eras are
	// clients too.
	clients map[string]*speaker
	from    *replica
}

// TestHostileServersHurtNobodyElse has a server behave in each of the rows of package
// hostile, beside a good server of the same bridge and beside another user's bridge.
func TestHostileServersHurtNobodyElse(t *testing.T) {
	var together []hostile.Row
	var groups [][]hostile.Row
	for _, row := range hostile.Rows() {
		if row.Alone {
			groups = append(groups, []hostile.Row{row})
		} else {
			together = append(together, row)
		}
	}
	groups = append(groups, together)
	slices.Reverse(groups) // Those that wait longest are at the end.
	i := install(t, len(groups)+1)
	g := i.startIngresses(t, 1)
	server, base := serveHostile(t)
	neighbour := g.startReals(t, len(groups), 1)[0]
	calls, failed := g.callAlways(t, neighbour)

	var users errgroup.Group
	users.SetLimit(hostileAtOnce)
	for n, rows := range groups {
		users.Go(func() error {
			name := rows[0].Name
			if !rows[0].Alone {
				name = "together"
			}
			t.Run(name, func(t *testing.T) { g.suffer(t, n, rows, server, base) })
			return nil
		})
	}
	_ = users.Wait() // They return no error.
	if n := server.Saw("", hostile.Trapped); n > 0 {
		t.Errorf("bridges followed %d redirects to another server", n)
	}
	n := server.MostAnswers()
	t.Logf("answers to pings and questions at once: %d", n)
	if n == 0 || n > mostAnswers {
		t.Errorf("bridges answered %d pings and questions at once, want some and at most %d", n, mostAnswers)
	}
	if n, of := failed.Load(), calls.Load(); n > 0 || of == 0 {
		t.Errorf("%d of %d calls of the neighbour failed", n, of)
	}
	trail, err := os.ReadFile(g.trail(1))
	if err != nil || bytes.Contains(trail, []byte(hostile.MadeUp)) || !bytes.Contains(trail, []byte(realTool)) {
		t.Errorf("the audit trail has a call that a server made up, or none at all: %v", err)
	}
	g.expectAlive(t)
}

// serveHostile serves all rows, and what must not be reached by them.
func serveHostile(t *testing.T) (*hostile.Server, string) {
	t.Helper()
	server := hostile.NewServer()
	trap, front := httptest.NewServer(server.Trap()), httptest.NewServer(server)
	server.Elsewhere = trap.URL
	t.Cleanup(func() {
		trap.Close()
		front.CloseClientConnections()
		front.Close()
	})
	return server, front.URL
}

// callAlways has the neighbour call until the test ends.
func (g *ingresses) callAlways(t *testing.T, b *hosted) (calls, failed *atomic.Int64) {
	t.Helper()
	calls, failed = new(atomic.Int64), new(atomic.Int64)
	c := call{of: b.tenant, tool: realTool, modern: true}
	testenv.Run(t, func(ctx context.Context) error {
		tick := time.NewTicker(neighbourEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			calls.Add(1)
			if r := g.sendWithin(context.WithoutCancel(ctx), c); !r.answered(c) {
				failed.Add(1)
				t.Logf("the neighbour's call failed: status %d, error %v: %s", r.status, r.err, r.body)
			}
		}
	})
	return calls, failed
}

// sendWithin is send for a call that has to be answered in time.
func (g *ingresses) sendWithin(ctx context.Context, c call) reply {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return g.send(ctx, c)
}

// suffer has one user's bridge meet some rows.
func (g *ingresses) suffer(t *testing.T, n int, rows []hostile.Row, server *hostile.Server, base string) {
	t.Helper()
	v := &victim{server: server, clients: map[string]*speaker{}, from: g.pick()}
	var servers []bridgeconfig.Server
	for name, era := range eras {
		servers = append(servers, bridgeconfig.Server{Name: name, URL: hostile.URL(base, era, rows[0])})
	}
	v.hosted = g.installation.newReal(t, n, servers...)
	defer v.expectUp(t, rows)
	own := call{of: v.tenant, tool: ownTool, modern: true}
	wait.Until(t, "an answer of the bridge of "+v.user, func() bool { return g.send(t.Context(), own).answered(own) })
	v.clients["new"] = &speaker{user: v.tenant, at: v.from}
	v.clients["old"] = &speaker{user: v.tenant, at: v.from, session: g.begin(t, v.tenant)}
	for _, row := range rows {
		for name := range eras {
			t.Run(row.Name+"/"+name, func(t *testing.T) {
				v.meet(t, name, row)
				if r := g.sendWithin(t.Context(), own); !r.answered(own) {
					t.Errorf("then the good server of the same bridge: status %d, error %v: %s", r.status, r.err, r.body)
				}
			})
		}
	}
}

// expectUp fails if the bridge has ended, or needed more memory than its container has.
func (v *victim) expectUp(t *testing.T, rows []hostile.Row) {
	t.Helper()
	if v.process.Ended() {
		t.Errorf("the bridge ended: %v", v.process.Wait())
		return
	}
	// Pages of the program's file do not count: the system takes them away where memory
	// is short.
	peak := v.process.Status(t, "VmHWM") - v.process.Status(t, "RssFile")
	t.Logf("%s and %d more: %.0f MiB", rows[0].Name, len(rows)-1, peak/1024)
	if peak*1024 > bridgeMemory {
		t.Errorf("the bridge needed %.0f MiB, and its container has %d", peak/1024, bridgeMemory>>20)
	}
}

// meet has a client of the server's era see a row.
func (v *victim) meet(t *testing.T, name string, row hostile.Row) {
	t.Helper()
	client := v.clients[name]
	switch {
	case row.Serve != nil:
		v.expectTools(t, client, name, row)
		return
	case row.Sees.Nothing:
		v.expectNothing(t, client, name, row)
	default:
		v.expectAnswers(t, client, name, row)
	}
	expectAnswer(t, client, row, name+"_"+hostile.Plain)
}

// expectAnswers compares what the calls are answered.
func (v *victim) expectAnswers(t *testing.T, client *speaker, name string, row hostile.Row) {
	t.Helper()
	var calls errgroup.Group
	for n := range max(1, row.AtOnce) {
		token := fmt.Sprintf("%s-%s-%d", row.Name, name, n)
		calls.Go(func() error {
			seen := client.call(t.Context(), name+"_"+row.Name, token)
			if v.server.Saw(token, hostile.Met) == 0 {
				return fmt.Errorf("it was not called, the client saw %v", seen)
			}
			return compare(row.Sees, seen)
		})
	}
	if err := calls.Wait(); err != nil {
		t.Errorf("a server that %s: %v", row.Does, err)
	}
}

// expectTools compares the list, once the bridge has met what the server does.
func (v *victim) expectTools(t *testing.T, client *speaker, name string, row hostile.Row) {
	t.Helper()
	path, met := hostile.URL("", eras[name], row), 1
	if row.Sees.Tools == 0 && !row.Sees.Nothing {
		met = metBefore // It has refused what it met before.
	}
	wait.Until(t, "the bridge at a server that "+row.Does, func() bool { return v.server.Saw(path, hostile.Met) >= met })
	count := map[string]int{}
	listed := func() bool {
		names, err := client.tools(t.Context())
		if errors.Is(err, errTooOften) {
			return false
		}
		if err != nil {
			t.Fatalf("the list beside a server that %s: %v", row.Does, err)
		}
		clear(count)
		for _, tool := range names {
			server, rest, _ := strings.Cut(tool, "_")
			count[server]++
			if len(tool) > 64 || strings.Trim(rest, nameLetters) != "" {
				t.Errorf("a server that %s: clients see a tool named %.80q", row.Does, tool)
			}
		}
		return count[name] == row.Sees.Tools
	}
	if row.Sees.Tools == 0 {
		listed()
	} else {
		wait.Until(t, "the list of a server that "+row.Does, listed)
		expectAnswer(t, client, row, name+"_"+hostile.Plain)
	}
	if count["own"] != 1 || count[name] != row.Sees.Tools {
		t.Errorf("a server that %s: clients see %d tools of it, want %d, and %d of the good one, want 1",
			row.Does, count[name], row.Sees.Tools, count["own"])
	}
}

// expectAnswer calls a tool that behaves well.
func expectAnswer(t *testing.T, client *speaker, row hostile.Row, tool string) {
	t.Helper()
	if err := compare(hostile.Sees{Result: "still here"}, client.call(t.Context(), tool, "")); err != nil {
		t.Errorf("then a good tool of a server that %s: %v", row.Does, err)
	}
}

// expectNothing cancels a call that is not answered.
func (v *victim) expectNothing(t *testing.T, client *speaker, name string, row hostile.Row) {
	t.Helper()
	token := row.Name + "-" + name
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	id := client.nextID()
	answered := make(chan answer, 1)
	go func() { answered <- client.callAs(ctx, id, name+"_"+row.Name, token) }()
	wait.Until(t, "all that a server sends that "+row.Does, func() bool {
		return len(answered) > 0 || v.server.Saw(token, hostile.Sent) > 0
	})
	if len(answered) > 0 {
		t.Errorf("a server that %s: the client saw %v, want nothing", row.Does, <-answered)
		return
	}
	client.cancel(t.Context(), id)
	if client.session == "" {
		leave()
	}
	wait.Until(t, "the end of the request to a server that "+row.Does, func() bool { return v.server.Saw(token, hostile.Left) > 0 })
	leave()
	if a := <-answered; a.result != nil {
		t.Errorf("a server that %s: the client saw %v, want nothing", row.Does, a)
	}
}
