// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// workers call at once, and streamers listen; together they keep two cores
	// busy without waiting for each other.
	workers   = 16
	streamers = 8
)

// populate makes so many tenants with bridges that run, and waits until each has
// had an answer.
func (g *ingresses) populate(t *testing.T, n int) []*tenant {
	t.Helper()
	i := g.installation
	tenants := make([]*tenant, n)
	for k := range tenants {
		tenants[k] = i.newTenant(t, k)
		i.run(t, tenants[k], i.hosts.take())
	}
	g.expectServed(t, tenants)
	return tenants
}

// expectServed waits until every replica answers each of the tenants.
func (g *ingresses) expectServed(t *testing.T, tenants []*tenant) {
	t.Helper()
	for _, u := range tenants {
		wait.Until(t, "an answer for "+u.user, func() bool {
			for range 2 * len(g.endpoints) {
				if c := (call{of: u, tool: "search", form: "whole"}); !g.send(t.Context(), c).answered(c) {
					return false
				}
			}
			return true
		})
	}
}

// tally is what came of many calls.
type tally struct {
	begun, ended time.Time
	calls        int64
	answered     int64
	streams      int64
	whole        int64

	mu      sync.Mutex
	foreign []string // at most a few, without what was foreign
	alien   int64
	others  map[string]int
	took    []time.Duration
}

// anyCall returns a random call of a random tenant. The ids are the same for all.
func anyCall(tenants []*tenant) call {
	return call{
		of: tenants[mathrand.IntN(len(tenants))], tool: "search", form: forms[mathrand.IntN(len(forms))],
		modern: mathrand.IntN(2) == 0, http2: mathrand.IntN(2) == 0,
	}
}

// anyPath is anyCall, now and then of the transport of 2024-11-05, or at the
// path of another user, where there is nothing for this one.
func anyPath(tenants []*tenant) call {
	c := anyCall(tenants)
	switch mathrand.IntN(20) {
	case 0:
		c.endpoint = message
	case 1:
		c.at = tenants[mathrand.IntN(len(tenants))]
	}
	return c
}

// hammer makes so many calls, and listens to streams meanwhile. It returns at
// once; done is closed after the last call.
func (g *ingresses) hammer(ctx context.Context, tenants []*tenant, calls int) (result *tally, done <-chan struct{}) {
	result = &tally{begun: time.Now(), others: map[string]int{}}
	over := make(chan struct{})
	streaming, stop := context.WithCancel(ctx)
	var left atomic.Int64
	left.Store(int64(calls))
	var callers, listeners errgroup.Group
	for range workers {
		callers.Go(func() error {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				g.one(ctx, anyPath(tenants), result)
			}
			return nil
		})
	}
	for n := range streamers {
		listeners.Go(func() error {
			for streaming.Err() == nil {
				g.listen(streaming, anyCall(tenants), n, result)
			}
			return nil
		})
	}
	go func() {
		defer close(over)
		_ = callers.Wait() // Neither returns an error.
		result.ended = time.Now()
		stop()
		_ = listeners.Wait()
	}()
	return result, over
}

// one makes a call.
func (g *ingresses) one(ctx context.Context, c call, into *tally) {
	start := time.Now()
	r := g.send(ctx, c)
	took := time.Since(start)
	into.mu.Lock()
	defer into.mu.Unlock()
	into.calls++
	into.look(c, r)
	if r.answered(c) {
		into.answered++
		into.took = append(into.took, took)
		return
	}
	into.others[r.kind()]++
}

// listen opens a stream, or asks for the health, which is another way for a
// byte to take.
func (g *ingresses) listen(ctx context.Context, c call, n int, into *tally) {
	c.method = http.MethodGet
	switch n {
	case 0:
		c.endpoint = "health"
	case 1:
		c.endpoint = listening
	}
	r := g.send(ctx, c)
	into.mu.Lock()
	defer into.mu.Unlock()
	into.streams++
	into.look(c, r)
	if r.whole() {
		into.whole++
	}
}

// look looks for what is not the user's.
func (y *tally) look(c call, r reply) {
	if !r.foreign(c.of) {
		return
	}
	y.alien++
	if len(y.foreign) < 10 {
		y.foreign = append(y.foreign, fmt.Sprintf("%s of %s, status %d", c.form, c.of.user, r.status))
	}
}

// kind says in a word what came of a call that was not answered.
func (r reply) kind() string {
	switch {
	case r.err == nil:
		return strconv.Itoa(r.status)
	case r.refused:
		return "refused"
	case r.begun:
		return "broke off"
	default:
		return "no answer"
	}
}

// quantile returns the time within which that part of the answered calls was.
func (y *tally) quantile(part float64) time.Duration {
	if len(y.took) == 0 {
		return 0
	}
	slices.Sort(y.took)
	return y.took[int(part*float64(len(y.took)-1))]
}

// String is a line of a table.
func (y *tally) String() string {
	others := make([]string, 0, len(y.others))
	for kind, n := range y.others {
		others = append(others, fmt.Sprintf("%s: %d", kind, n))
	}
	slices.Sort(others)
	took := y.ended.Sub(y.begun)
	return fmt.Sprintf("%d calls in %s, %.0f a second, p50 %s, p99 %s; answered %d, others {%s}; streams %d, whole %d; foreign %d",
		y.calls, took.Round(time.Millisecond), float64(y.calls)/took.Seconds(), y.quantile(0.5).Round(10*time.Microsecond),
		y.quantile(0.99).Round(10*time.Microsecond), y.answered, strings.Join(others, ", "), y.streams, y.whole, y.alien)
}
