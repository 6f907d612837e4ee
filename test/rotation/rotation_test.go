// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

// Package rotation replaces the master key of many bridges under load, with
// two real keybrokers and a real API server, and kills a keybroker now and then
// while bridges read their secrets.
package rotation

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestARotationUnderLoadThatIsKilledAgainAndAgain(t *testing.T) {
	kills := world.Number(t, "ROTATION_KILLS", defaultKills)
	w := newFleet(t, world.Number(t, "ROTATION_BRIDGES", defaultBridges), world.Number(t, "ROTATION_SECRETS", 1))
	all, sampled := len(w.bridges)*w.secrets, min(samples, len(w.bridges))
	built := build(t, w.ring, w.namespace)
	w.populate(t, 0, sampled)
	pods := w.pods(t, sampled)
	r := built().run(t)
	reads := w.read(t, r, pods)

	// A version seals only when everybody who opens has it.
	w.key(t, "2")
	w.populate(t, sampled, len(w.bridges))
	r.until(t, "every envelope is seen under version 1", r.lead(func(k *process) bool { return k.envelopes(1) == all }))
	floor := w.floor(t)
	r.until(t, "both have the new version", r.rings(func(s masterkey.Status) bool { return slices.Contains(s.Versions, 2) }))
	w.file(t, "current", "2")
	r.until(t, "the leader seals under the new version", r.lead(func(k *process) bool { return k.ring().Current == 2 }))

	begin := time.Now()
	vacancy := r.vacancy()
	leaders := w.killAgainAndAgain(t, reads, kills)
	r.until(t, "all are wrapped anew", r.lead(func(k *process) bool { return k.envelopes(2) == all && k.envelopes(1) <= 0 }))
	r.until(t, "all report it", func() bool { return w.behind(t) == 0 })
	took, waited := time.Since(begin), r.vacancy()-vacancy

	w.retire(t, r)
	reads.stop()
	reads.expectServed(t)
	w.expectRotated(t)
	if failures := reads.failures.Load(); failures > 0 {
		t.Errorf("%d reads failed, the first: %v", failures, *reads.first.Load())
	}
	if slices.ContainsFunc(r.all, func(k *process) bool { return k.leaked.Load() }) {
		t.Error("a keybroker's log has a plaintext")
	}
	work := took - waited
	for _, line := range [][2]string{
		{"envelopes under another key", strconv.Itoa(all)},
		{"the rotation took", fmt.Sprintf("%v; nobody led for %v of it (%.0f %%)", rounded(took), rounded(waited), 100*waited.Seconds()/took.Seconds())},
		{"as many plain merge patches", fmt.Sprintf("%v, %d at a time; the rotation without the waiting took %.1f times as long", rounded(floor), concurrency, work.Seconds()/floor.Seconds())},
		{"kill -9", fmt.Sprintf("%d; %d of them hit a leader that was rewrapping", kills, leaders)},
		{"reads through the keybrokers", fmt.Sprintf("%d, %.0f a second, of %d bridges", reads.reads.Load(), reads.rate(), len(pods))},
		{"failed over", strconv.FormatInt(reads.failedOver.Load(), 10)},
		{"failed", strconv.FormatInt(reads.failures.Load(), 10)},
		{"resident at most", fmt.Sprintf("%s and %s", r.both()[0].memory(t), r.both()[1].memory(t))},
	} {
		t.Logf("| %-28s | %s", line[0], line[1])
	}
}

// killAgainAndAgain kills one of the two after some more envelopes each time,
// the first time the leader, and returns how often that hit a leader that was
// wrapping anew.
func (w *fleet) killAgainAndAgain(t *testing.T, reads *load, kills int) (leaders int) {
	t.Helper()
	r := reads.replicas
	all := len(w.bridges) * w.secrets
	for n := range kills {
		r.until(t, "one leads", func() bool { return r.leader() != nil })
		leader := r.leader()
		// In what is left, and from the very beginning on.
		before, after := max(0, leader.rewrapped()), 1+mathrand.IntN(max(1, all/(kills+1)))
		done := 0
		r.until(t, "some more are wrapped anew", func() bool {
			done = max(0, leader.rewrapped()) - before
			return done >= after || leader.envelopes(2) == all || r.leader() != leader
		})
		victim := r.both()[mathrand.IntN(2)]
		if n == 0 {
			victim = leader
		}
		leads := victim == r.leader()
		noticed := reads.failedOver.Load() + noticing
		r.replace(t, victim, func() bool { return reads.failedOver.Load() >= noticed })
		left := w.left(t)
		t.Logf("kill -9 number %d, of a leader: %t, meant after %d more envelopes, came after %d, with %d left",
			n+1, leads, after, done, left)
		if leads && done > 0 && left > 0 {
			leaders++
		}
	}
	if leaders == 0 {
		t.Error("no leader was killed while it wrapped anew")
	}
	return leaders
}

// retire ends the use of version 1.
func (w *fleet) retire(t *testing.T, r *replicas) {
	t.Helper()
	w.file(t, "minimum", "2")
	must.Succeed(t, os.Remove(filepath.Join(w.ring, "1")))
	r.until(t, "version 1 is gone", r.rings(func(s masterkey.Status) bool { return slices.Equal(s.Versions, []uint32{2}) }))
}

// expectRotated opens everything with the new version alone.
func (w *fleet) expectRotated(t *testing.T) {
	t.Helper()
	keys, alone := w.open(t)
	if status := keys.Status(); !slices.Equal(status.Versions, []uint32{2}) {
		t.Fatalf("the ring has versions %v", status.Versions)
	}
	want := envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: 2}
	each(t, 0, len(w.bridges), concurrency, func(ctx context.Context, i int) error {
		listing, err := alone.List(ctx, w.bridges[i])
		if err != nil {
			return err
		}
		for _, e := range listing.Entries {
			if e.Key != want {
				return fmt.Errorf("bridge %d: secret %s is under %s", i, e.Name, e.Key)
			}
		}
		return w.check(ctx, alone, i)
	})
}

// behind returns how many bridges do not report the new version.
func (w *fleet) behind(t *testing.T) int {
	t.Helper()
	var list v1alpha1.HostedBridgeList
	must.Succeed(t, w.client.List(t.Context(), &list, client.InNamespace(w.namespace)))
	behind := len(w.bridges)
	for _, b := range list.Items {
		if b.Status.KeyVersion != nil && *b.Status.KeyVersion == 2 && len(b.Status.Secrets.Failures) == 0 {
			behind--
		}
	}
	return behind
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
