// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

// Package rotation replaces the master key of many bridges under load, with
// the real keybroker and a real API server, and kills the keybroker while it
// is at it.
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
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestARotationUnderLoadThatIsKilledAgainAndAgain(t *testing.T) {
	kills := number(t, "ROTATION_KILLS", defaultKills)
	begin := time.Now()
	w := newWorld(t, number(t, "ROTATION_BRIDGES", defaultBridges), number(t, "ROTATION_SECRETS", 1))
	all := len(w.bridges) * w.secrets
	t.Logf("%d bridges with %d secrets each were made in %v", len(w.bridges), w.secrets, rounded(time.Since(begin)))
	p := build(t, w.ring, w.namespace)
	reads := w.read(t)
	floor := w.floor(t)
	k := p.start(t)
	w.until(t, k, "the keybroker sees every envelope under version 1", func() bool { return k.envelopes(1) == all })

	// A version seals only when everybody who opens has it.
	w.file(t, "current", "1")
	w.key(t, "2")
	w.until(t, k, "the new version is loaded", func() bool { return slices.Contains(k.ring().Versions, 2) })
	if err := w.keys.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.file(t, "current", "2")
	w.until(t, k, "the new version seals", func() bool { return k.ring().Current == 2 })

	begin = time.Now()
	waited := time.Duration(0)
	for n := range kills {
		// In what is left, and from the very beginning on.
		at := mathrand.IntN(max(1, all/(kills+1)))
		w.until(t, k, "some are wrapped anew", func() bool { return k.rewrapped() >= at || k.envelopes(2) == all })
		done := k.rewrapped()
		k.kill()
		killed := time.Now()
		t.Logf("kill -9 number %d, meant after %d envelopes of this process, came after %d", n+1, at, done)
		k = p.start(t)
		w.until(t, k, "it leads", func() bool { return closed(k.leads) })
		waited += k.led.Sub(killed)
	}
	w.until(t, k, "all are wrapped anew", func() bool { return k.envelopes(2) == all && k.envelopes(1) <= 0 })
	w.until(t, k, "all report it", func() bool { return w.behind(t) == 0 })
	took := time.Since(begin)

	w.retire(t, k)
	reads.stop()
	if failures := reads.failures.Load(); failures > 0 {
		t.Errorf("%d reads failed, the first: %v", failures, *reads.first.Load())
	}
	w.expectRotated(t)
	if k.log.contains(marker) {
		t.Error("the keybroker's log has a plaintext")
	}
	work := took - waited
	t.Logf("%d envelopes under another key in %v, and %v more for the lease of a keybroker that was killed to end, %d times",
		all, rounded(work), rounded(waited), kills)
	t.Logf("as many plain merge patches of that size, %d at a time: %v, so a rotation takes %.1f times as long",
		concurrency, rounded(floor), work.Seconds()/floor.Seconds())
	t.Logf("%d reads meanwhile, %d failed; the keybroker had at most %s resident", reads.reads.Load(), reads.failures.Load(), k.memory())
}

// until waits, at most ten minutes, for what the keybroker or somebody does.
func (w *world) until(t *testing.T, k *process, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-k.ended:
			t.Fatalf("%s: the keybroker has ended", what)
		case <-deadline:
			t.Fatalf("%s: not within 10 min", what)
		}
	}
}

// retire ends the use of version 1.
func (w *world) retire(t *testing.T, k *process) {
	t.Helper()
	w.file(t, "minimum", "2")
	if err := os.Remove(filepath.Join(w.ring, "1")); err != nil {
		t.Fatal(err)
	}
	w.until(t, k, "version 1 is gone", func() bool { return slices.Equal(k.ring().Versions, []uint32{2}) })
	if err := w.keys.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// expectRotated opens everything with the new version alone.
func (w *world) expectRotated(t *testing.T) {
	t.Helper()
	keys, alone := w.open(t)
	if status := keys.Status(); !slices.Equal(status.Versions, []uint32{2}) {
		t.Fatalf("the ring has versions %v", status.Versions)
	}
	want := envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: 2}
	w.each(t, concurrency, func(ctx context.Context, i int) error {
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
func (w *world) behind(t *testing.T) int {
	t.Helper()
	var list v1alpha1.HostedBridgeList
	if err := w.client.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	behind := len(w.bridges)
	for _, b := range list.Items {
		if b.Status.KeyVersion != nil && *b.Status.KeyVersion == 2 && len(b.Status.Secrets.Failures) == 0 {
			behind--
		}
	}
	return behind
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// number returns the environment's variable.
func number(t *testing.T, name string, unless int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return unless
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is not a number of at least 1", name)
	}
	return n
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
