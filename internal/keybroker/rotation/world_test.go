// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// world is an installation during a rotation: a ring in a Secret, replicas that
// load it some time after it is written, and users whose secrets are sealed
// and wrapped anew by them meanwhile. It fails the test when a rotation does
// what it must not.
type world struct {
	*storetest.Memory

	t    *testing.T
	lags []time.Duration

	sealed  sync.Mutex // Guards what follows.
	census  secretstore.KeyUsage
	history []written
	// dies is called after each write, with its number.
	dies   func(n int) error
	told   []string
	writes int
}

// written is the ring from a time on.
type written struct {
	at   time.Time
	ring RingState
}

func newWorld(t *testing.T, data map[string]string, lags ...time.Duration) *world {
	t.Helper()
	w := &world{Memory: storetest.New(), t: t, lags: lags, census: secretstore.KeyUsage{}}
	secret := must.Value(w.CreateSecret(t.Context(), ringSecret(data)))(t)
	ring := must.Value(parseRing(secret.Data))(t)
	w.history = []written{{time.Time{}, ring}}
	w.AfterPatch = w.wrote
	return w
}

// wrote holds each write against what replicas have loaded at that time.
func (w *world) wrote(secret *corev1.Secret) error {
	w.sealed.Lock()
	defer w.sealed.Unlock()
	ring, err := parseRing(secret.Data)
	if err != nil {
		w.t.Errorf("the rotation wrote a ring that nobody loads: %v", err)
		return err
	}
	before := w.history[len(w.history)-1].ring
	for i := range w.lags {
		if has := w.loadedBy(i); !slices.Contains(has.Versions, ring.Current) {
			w.t.Errorf("version %d is current and replica %d has %s", ring.Current, i, has)
		}
	}
	if added := len(ring.Versions) - len(before.Versions); added > 1 || added == 1 && before.highest() != before.Current {
		w.t.Errorf("the ring had %s, and a version was added: %s", before, ring)
	}
	for _, version := range before.Versions {
		if !slices.Contains(ring.Versions, version) && w.census[envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: version}] > 0 {
			w.t.Errorf("version %d was removed, and there is %s", version, w.census)
		}
	}
	if older := w.census.Needing(envelope.AlgorithmLocal, ring.Minimum); older > 0 {
		w.t.Errorf("the minimum is %d, and there is %s", ring.Minimum, w.census)
	}
	w.history = append(w.history, written{time.Now(), ring})
	w.writes++
	if w.dies != nil {
		return w.dies(w.writes)
	}
	return nil
}

// loadedBy returns the ring that a replica has now.
func (w *world) loadedBy(i int) RingState {
	seen := w.history[0].ring
	for _, h := range w.history {
		if !h.at.After(time.Now().Add(-w.lags[i])) {
			seen = h.ring
		}
	}
	return seen
}

func (w *world) replicas(context.Context) ([]Replica, error) {
	w.sealed.Lock()
	defer w.sealed.Unlock()
	replicas := []Replica{}
	for i := range w.lags {
		ring := w.loadedBy(i)
		replicas = append(replicas, Replica{Pod: fmt.Sprintf("keybroker-%d", i), Ring: &ring})
	}
	return replicas, w.Err
}

// live is a user's moment: each replica seals something and opens all there
// is, and the first one, which leads, wraps some of it anew.
func (w *world) live() {
	w.sealed.Lock()
	defer w.sealed.Unlock()
	for i := range w.lags {
		ring := w.loadedBy(i)
		if w.writes > 0 || len(w.census) == 0 {
			w.census[ring.key()]++
		}
		for key := range w.census {
			if key != (envelope.KeyID{}) && (!slices.Contains(ring.Versions, key.Version) || key.Version < ring.Minimum) {
				w.t.Errorf("replica %d has %s and cannot open %s", i, ring, key)
			}
		}
	}
	leads := w.loadedBy(0)
	moved := 5
	for _, key := range slices.Collect(maps.Keys(w.census)) {
		if key != (envelope.KeyID{}) && key.Version < leads.Current {
			n := min(moved, w.census[key])
			moved -= n
			if w.census[key] -= n; w.census[key] == 0 {
				delete(w.census, key)
			}
			w.census[leads.key()] += n
		}
	}
}

func (w *world) count(context.Context) (secretstore.KeyUsage, error) {
	w.sealed.Lock()
	defer w.sealed.Unlock()
	return maps.Clone(w.census), w.Err
}

// go on until ctx ends; users do not wait for a rotation.
func (w *world) goOn(ctx context.Context) {
	for sleep(ctx, 700*time.Millisecond) {
		w.live()
	}
}

// run runs a rotation of this world, or what is to come after it.
func (w *world) run(ctx context.Context, do func(*Rotation, context.Context) (Report, error)) (Report, error) {
	living, end := context.WithCancel(w.t.Context())
	var group sync.WaitGroup
	group.Go(func() { w.goOn(living) })
	defer group.Wait()
	defer end()
	return do(w.rotation(), ctx)
}

func (w *world) rotation() *Rotation {
	ring := &SecretRing{Secrets: w.Memory, Namespace: system, Name: ringRef, Random: randomness{}}
	return &Rotation{Ring: ring, Replicas: w.replicas, Count: w.count, Tell: func(line string) {
		w.sealed.Lock()
		defer w.sealed.Unlock()
		w.told = append(w.told, line)
	}}
}

func (w *world) ring() RingState {
	w.sealed.Lock()
	defer w.sealed.Unlock()
	return w.history[len(w.history)-1].ring
}

// randomness gives bytes that a test recognises when they are shown.
type randomness struct{}

func (randomness) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = canary[i%len(canary)]
	}
	return len(b), nil
}

var errKilled = errors.New("killed")
