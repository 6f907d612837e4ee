// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/test/load/world"
)

const (
	chaosReplicas = 3
	chaosFakes    = 6
	chaosReals    = 3
	chaosWorkers  = 8
	// killEvery is how long there is peace between two kills.
	killEvery = 250 * time.Millisecond
	// longestCall ends a call whose answer will not come.
	longestCall = 10 * time.Second
)

// ledger is what clients know of their calls: whether each was answered.
type ledger struct {
	serial atomic.Int64
	mu     sync.Mutex
	// answers is the status of each answer that came whole, 0 where none did.
	answers map[called]int
	kinds   map[string]int
}

// call makes calls of tools with names of their own until ctx ends.
func (l *ledger) call(ctx context.Context, g *ingresses, tenants []*tenant) {
	for ctx.Err() == nil {
		c := anyCall(tenants)
		c.tool = fmt.Sprintf("%s%d", once, l.serial.Add(1))
		if mathrand.IntN(8) == 0 {
			c.pause = mathrand.N(longestTool)
		}
		sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestCall)
		r := g.send(sending, c)
		cancel()
		l.note(c, r)
	}
}

func (l *ledger) note(c call, r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	status := 0
	if r.err == nil {
		status = r.status
	}
	l.answers[called{c.of.user, c.tool}] = status
	l.kinds[r.kind()]++
}

// victims are what is killed.
type victims struct {
	*ingresses
	tenants []*tenant
	reals   []*hosted
	store   *redisServer
	// kills counts them by kind.
	kills map[string]int
}

// kill kills one of them at random and starts it again.
func (v *victims) kill(t *testing.T) {
	t.Helper()
	kinds := []string{"ingress", "fake bridge", "bridge", "Redis"}
	kind := kinds[mathrand.IntN(len(kinds))]
	v.kills[kind]++
	switch kind {
	case "ingress":
		old := v.pick()
		old.Kill()
		heard := time.NewTimer(lag)
		defer heard.Stop()
		<-heard.C
		v.remove(old)
		v.add(v.start(t, old.home))
	case "fake bridge":
		v.installation.restart(t, v.tenants[mathrand.IntN(chaosFakes)])
	case "bridge":
		b := v.reals[mathrand.IntN(len(v.reals))]
		b.process.Kill()
		v.installation.startReal(t, b)
	default:
		v.store.process.Kill()
		v.store.start(t)
	}
}

// TestEveryAnsweredCallHasItsEntryWhateverIsKilled kills ingresses, bridges and
// Redis while tools are called, each by a name of its own, and then compares
// what the clients know with the trails.
func TestEveryAnsweredCallHasItsEntryWhateverIsKilled(t *testing.T) {
	lasts := time.Duration(world.Number(t, "LOAD_CHAOS_SECONDS", int(defaultChaos/time.Second))) * time.Second
	i := install(t, chaosFakes+chaosReals)
	store := i.newRedis(t)
	g := i.newIngresses(t)
	g.redis = store.url()
	for range chaosReplicas {
		g.add(g.startNew(t))
	}
	tenants := g.populate(t, chaosFakes)
	reals := g.startReals(t, chaosFakes, chaosReals)
	for _, b := range reals {
		b.session = g.begin(t, b.tenant)
		tenants = append(tenants, b.tenant)
	}
	v := &victims{ingresses: g, tenants: tenants, reals: reals, store: store, kills: map[string]int{}}

	book := &ledger{answers: map[called]int{}, kinds: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers errgroup.Group
	for range chaosWorkers {
		callers.Go(func() error { book.call(ctx, g, tenants); return nil })
	}
	peace := time.NewTicker(killEvery)
	defer peace.Stop()
	for over := time.After(lasts); ctx.Err() == nil; {
		select {
		case <-over:
			stop()
		case <-peace.C:
			v.kill(t)
		}
	}
	_ = callers.Wait() // They return no error.
	g.expectAlive(t)
	for _, r := range g.current() {
		r.Kill() // What has not been written by now is not there.
	}
	expectEntries(t, book, g.readTrails(t))
	g.expectGapFound(t, 1)
	t.Logf("killed %v; of %d calls %v", v.kills, book.serial.Load(), book.kinds)
}

// expectEntries compares answers with entries: an answer has exactly one. A call
// whose answer did not come may have one, since what comes first is the entry.
func expectEntries(t *testing.T, book *ledger, written *trails) {
	t.Helper()
	missing, twice, answered := map[int]int{}, 0, 0
	for c, status := range book.answers {
		entries := written.of[c]
		if status != 0 {
			answered++
		}
		if status != 0 && entries == 0 {
			missing[status]++
		}
		if entries > 1 {
			twice++
		}
	}
	t.Logf("%d answers, %d entries in %d files", answered, written.lines, written.files)
	if len(missing) > 0 {
		t.Errorf("answers without an entry, by status: %v", missing)
	}
	if twice > 0 {
		t.Errorf("%d calls have more than one entry", twice)
	}
	if answered < 100 || written.files <= chaosReplicas-1 {
		t.Errorf("%d answers and %d files show nothing", answered, written.files)
	}
}

// redisServer is a real one.
type redisServer struct {
	program, address string
	process          *world.Process
	installation     *installation
}

// newRedis starts a Redis, which hack/install-deps.sh installs.
func (i *installation) newRedis(t *testing.T) *redisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("%v; hack/install-deps.sh installs it", err)
	}
	s := &redisServer{program: program, address: world.UnusedAddress(t), installation: i}
	s.start(t)
	return s
}

func (s *redisServer) url() string { return "redis://" + s.address + "/0" }

// start starts it, again after it was killed, with nothing in it.
func (s *redisServer) start(t *testing.T) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	cmd := exec.Command(s.program, "--bind", host, "--port", port, "--save", "", "--appendonly", "no")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	s.process = s.installation.launch(t, "Redis", cmd)
	s.process.AwaitListener(t, s.address)
}
