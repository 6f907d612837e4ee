// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
)

// moveEvery is how often two bridges change places: of 50 users one in 25 has no
// bridge for some milliseconds then.
const moveEvery = 100 * time.Millisecond

// TestNoByteOfAnotherUserReachesAnybody has users with equal request ids and
// equal session ids call in both eras and over both versions of HTTP, some of them
// at the paths of others, while their pods are deleted and the addresses go to other users' pods. All that a user
// sends and all that the user's bridge answers has the user's canary.
func TestNoByteOfAnotherUserReachesAnybody(t *testing.T) {
	users, calls := world.Number(t, "LOAD_USERS", defaultUsers), world.Number(t, "LOAD_CALLS", defaultCalls)
	i := install(t, users)
	g := i.startIngresses(t, 2)
	tenants := g.populate(t, users)

	result, done := g.hammer(t.Context(), tenants, calls)
	moves := i.moveUntil(t, done, tenants)
	t.Logf("%s; bridges that changed places %d", result, 2*moves)

	misled := 0.0
	for _, r := range g.endpoints {
		undelivered, _ := world.Metric("http://"+r.Probes+"/metrics", "hostedbridge_ingress_undelivered_total", "handshake")
		misled += undelivered
	}
	if misled == 0 {
		t.Error("no route ever led to another user's bridge, so nothing was tried")
	}
	if result.others["401"] == 0 || result.others["200"] > 0 {
		t.Errorf("no call of another user's path was refused, or one was answered: %v", result.others)
	}
	if result.alien > 0 {
		t.Errorf("%d answers had what is not their user's, such as %v", result.alien, result.foreign)
	}
	expectNoStrangers(t, tenants)
	// Those that met a bridge that ended, and those that were in flight then.
	if result.answered < result.calls*9/10 {
		t.Errorf("%d of %d calls were answered", result.answered, result.calls)
	}
	g.expectAlive(t)

	// The same calls notice a table that returns the wrong pod where the pod
	// could prove to be the right one.
	wrong, other := tenants[0], tenants[1]
	wrong.end()
	i.listenAs(t, wrong, other, wrong.host)
	mutant, done := g.hammer(t.Context(), tenants, 20*users)
	<-done
	if mutant.alien == 0 || other.strangers.Load() == 0 {
		t.Errorf("with a wrong pod in the table %d answers were foreign and %d calls", mutant.alien, other.strangers.Load())
	}
}

// moveUntil has bridges change places until done, and returns how often.
func (i *installation) moveUntil(t *testing.T, done <-chan struct{}, tenants []*tenant) (moves int) {
	t.Helper()
	tick := time.NewTicker(moveEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return moves
		case <-tick.C:
		}
		order := mathrand.Perm(len(tenants))
		i.exchange(t, tenants[order[0]], tenants[order[1]])
		moves++
	}
}

func expectNoStrangers(t *testing.T, tenants []*tenant) {
	t.Helper()
	for _, u := range tenants {
		if n := u.strangers.Load(); n > 0 {
			t.Errorf("%d calls of others reached the bridge of %s", n, u.user)
		}
	}
}
