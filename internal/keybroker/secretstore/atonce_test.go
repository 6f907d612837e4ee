// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// far is a master key of either algorithm that takes a second for each answer.
type far struct {
	*envelope.Keyring

	algorithm envelope.Algorithm
	now, most atomic.Int32
	// refuse decides by the secret's name.
	refuse func(name string) error
}

func (f *far) KeyID() envelope.KeyID { return envelope.KeyID{Algorithm: f.algorithm, Version: 1} }

func (f *far) Unwrap(ctx context.Context, w envelope.Wrapping, k envelope.Wrapped) ([]byte, error) {
	n := f.now.Add(1)
	defer f.now.Add(-1)
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
		continue
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.refuse != nil {
		if err := f.refuse(w.Secret); err != nil {
			return nil, err
		}
	}
	return f.Keyring.Unwrap(ctx, w, k)
}

// behind gives the fixture that key, and alice n secrets under it.
func (f *fixture) behind(t *testing.T, algorithm envelope.Algorithm, n int) *far {
	t.Helper()
	key := &far{Keyring: f.master.Keyring, algorithm: algorithm}
	f.Keys = func() *envelope.Keys { return keys(t, key) }
	var changes []Change
	for i := range n {
		changes = append(changes, set(fmt.Sprintf("SECRET_%02d", i), fmt.Sprint(i)))
	}
	f.must(t, alice, changes...)
	return key
}

// An engine that is far away is asked for several at once, since the bridge
// waits for all of them.
func TestATransitEngineIsAskedForSeveralAtOnce(t *testing.T) {
	// The damaged one is not asked for.
	for algorithm, want := range map[envelope.Algorithm]struct {
		most int32
		took time.Duration
	}{envelope.AlgorithmTransit: {16, 3 * time.Second}, envelope.AlgorithmLocal: {1, 39 * time.Second}} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, newCluster(), 1)
				key := f.behind(t, algorithm, 40)
				f.envelopes(alice).Data["SECRET_07"] = []byte("damaged")
				key.refuse = func(name string) error {
					if name == "SECRET_31" || name == "SECRET_02" {
						return envelope.ErrRefused
					}
					return nil
				}
				began := time.Now()
				got, unreadable := f.values(t, alice)
				took := time.Since(began).Round(time.Second)
				if took != want.took || key.most.Load() != want.most {
					t.Errorf("took %s with %d at once, want %s and %d", took, key.most.Load(), want.took, want.most)
				}
				if diff := cmp.Diff([]string{"SECRET_02", "SECRET_07", "SECRET_31"}, unreadable); diff != "" || len(got) != 37 || got["SECRET_39"] != "39" {
					t.Errorf("%d open; unreadable (-want +got):\n%s", len(got), diff)
				}
				// The log is in order too.
				var named []string
				for line := range strings.Lines(f.log.String()) {
					for _, name := range unreadable {
						if strings.Contains(line, `"secret":"`+name+`"`) {
							named = append(named, name)
						}
					}
				}
				if !slices.Equal(named, unreadable) {
					t.Errorf("the log names %v", named)
				}
			})
		})
	}
}

// What says nothing of one secret ends the asking for all of them.
func TestAnEngineThatGoesAwayMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, newCluster(), 1)
		key := f.behind(t, envelope.AlgorithmTransit, 40)
		gone := errors.New("connection reset")
		key.refuse = func(name string) error {
			if name == "SECRET_20" {
				return gone
			}
			return nil
		}
		began := time.Now()
		opened, err := f.Open(t.Context(), alice)
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, gone) || opened.Values != nil || opened.Unreadable != nil {
			t.Errorf("%d open, error %v", len(opened.Values), err)
		}
		if took := time.Since(began).Round(time.Second); took != 2*time.Second || f.log.Len() > 0 {
			t.Errorf("took %s, log %s", took, f.log.String())
		}
	})
}
