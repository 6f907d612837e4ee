// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// rollingUsers call, rollingWorkers at a time and as many streams.
	rollingUsers   = 10
	rollingWorkers = 8
	// longestTool is how long the longest tool takes, which fits into the drain
	// many times.
	longestTool = 500 * time.Millisecond
	// attempts is how often a client goes to the Service before it gives up.
	attempts = 20
)

// patient is a client that repeats a call only where nobody took the connection
// or it was closed before a byte of the answer, and streams that go on until
// they end.
type patient struct {
	g       *ingresses
	tenants []*tenant

	serial                       atomic.Int64
	calls, streams, refused, cut atomic.Int64
	mu                           sync.Mutex
	lost                         []string
	ranTwice                     []string
	begun                        time.Time
	stop                         context.CancelFunc
	group                        errgroup.Group
}

// startPatient starts the clients, which call until they are stopped.
func (g *ingresses) startPatient(t *testing.T, tenants []*tenant) *patient {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &patient{g: g, tenants: tenants, begun: time.Now(), stop: stop}
	for range rollingWorkers {
		p.group.Go(func() error {
			for ctx.Err() == nil {
				p.unary(t.Context())
			}
			return nil
		})
		p.group.Go(func() error {
			for ctx.Err() == nil {
				p.stream(t.Context())
			}
			return nil
		})
	}
	t.Cleanup(p.end)
	return p
}

// end stops the clients after what they have begun.
func (p *patient) end() {
	p.stop()
	_ = p.group.Wait() // They return no error.
}

// unary makes a call under a tool's name of its own.
func (p *patient) unary(ctx context.Context) {
	c := anyCall(p.tenants)
	c.tool = fmt.Sprintf("%s%d", once, p.serial.Add(1))
	if mathrand.IntN(4) == 0 {
		c.pause = mathrand.N(longestTool)
	}
	r := p.persist(ctx, c)
	p.calls.Add(1)
	if !r.answered(c) {
		p.lose("call", r)
		return
	}
	if count, ok := c.of.ran.LoadAndDelete(c.tool); !ok || count.(*atomic.Int64).Load() != 1 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ranTwice = append(p.ranTwice, c.tool)
	}
}

// stream listens to a stream, whose end the bridge decides.
func (p *patient) stream(ctx context.Context) {
	c := anyCall(p.tenants)
	c.method = http.MethodGet
	r := p.persist(ctx, c)
	p.streams.Add(1)
	if !r.whole() {
		p.lose("stream", r)
	}
}

func (p *patient) lose(what string, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = append(p.lost, fmt.Sprintf("%s through %s: %s, error %v, %d bytes", what, r.from.Name, r.kind(), r.err, len(r.body)))
}

// persist sends the call until there is an answer, or a byte of one.
func (p *patient) persist(ctx context.Context, c call) (r reply) {
	for range attempts {
		r = p.g.send(ctx, c)
		switch {
		case r.begun:
			return r
		case r.refused:
			p.refused.Add(1)
		default:
			p.cut.Add(1)
		}
	}
	return r
}

// TestARollingRestartLosesNoCall replaces one ingress after the other, while
// clients call tools that take their time, and listen to streams.
func TestARollingRestartLosesNoCall(t *testing.T) {
	restarts := world.Number(t, "LOAD_RESTARTS", defaultRestart)
	i := install(t, rollingUsers)
	g := i.startIngresses(t, 2)
	p := g.startPatient(t, g.populate(t, rollingUsers))
	for range restarts {
		for _, old := range g.current() {
			g.replace(t, old)
		}
	}
	p.end()
	t.Logf("%d replicas replaced in %s under %d calls and %d streams: %d lost; %d times nobody took the connection, %d times it was closed before a byte",
		2*restarts, time.Since(p.begun).Round(time.Millisecond), p.calls.Load(), p.streams.Load(), len(p.lost), p.refused.Load(), p.cut.Load())
	if len(p.lost) > 0 {
		t.Errorf("%d were lost, the first: %s", len(p.lost), p.lost[0])
	}
	if p.cut.Load() == 0 && len(p.ranTwice) > 0 {
		t.Errorf("%d calls did not run once though none was repeated, such as %s", len(p.ranTwice), p.ranTwice[0])
	}
	if p.calls.Load() < int64(restarts)*rollingWorkers || p.streams.Load() < rollingWorkers {
		t.Errorf("%d calls and %d streams are no load", p.calls.Load(), p.streams.Load())
	}
	g.expectAlive(t)
}

// current returns the replicas in the order in which they started.
func (g *ingresses) current() []*replica {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*replica(nil), g.endpoints...)
}

// replace does what a rolling update does: the new replica first, and then the
// old one is told to end, of which the Service hears later.
func (g *ingresses) replace(t *testing.T, old *replica) {
	t.Helper()
	g.add(g.startNew(t))
	old.Terminate()
	heard := time.NewTimer(lag)
	defer heard.Stop()
	<-heard.C
	g.remove(old)
	wait.UntilWithin(t, drainDelay+drainTimeout+patience, "the end of "+old.Name, old.Ended)
	if err := old.Wait(); err != nil {
		t.Errorf("%s ended with %v", old.Name, err)
	}
}
