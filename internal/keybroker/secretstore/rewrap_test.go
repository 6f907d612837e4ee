// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// under returns the key versions of alice's secrets by name.
func (f *fixture) under(t *testing.T) map[string]uint32 {
	t.Helper()
	versions := map[string]uint32{}
	for _, e := range f.list(t, alice).Entries {
		versions[e.Name] = e.Key.Version
	}
	return versions
}

func TestARotationWrapsAllAnewInOneWrite(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("A", "one"), set("B", "two"))
	f.rotate(t, 0, 1, 2)
	f.must(t, alice, set("C", "three"))
	before, writes := f.list(t, alice), f.Writes
	_, done, err := f.Rewrap(t.Context(), alice)
	if done != 2 || err != nil || f.Writes != writes+1 {
		t.Errorf("%d rewrapped in %d writes, error %v", done, f.Writes-writes, err)
	}
	if diff := cmp.Diff(map[string]uint32{"A": 2, "B": 2, "C": 2}, f.under(t)); diff != "" {
		t.Errorf("key versions (-want +got):\n%s", diff)
	}
	if after := f.list(t, alice); after.Revision != before.Revision || after.Entries[0].Updated != before.Entries[0].Updated {
		t.Errorf("before %+v, after %+v", before, after)
	}
	// The old version is not needed any more.
	f.rotate(t, 2, 2)
	if got, _ := f.values(t, alice); !cmp.Equal(map[string]string{"A": "one", "B": "two", "C": "three"}, got) {
		t.Errorf("%d secrets open", len(got))
	}
	reads := f.Reads
	if _, done, err := f.Rewrap(t.Context(), alice); done != 0 || err != nil || f.Writes != writes+1 || f.Reads != reads+1 {
		t.Errorf("again: %d, error %v, %d reads", done, err, f.Reads-reads)
	}
	if _, done, err := f.Rewrap(t.Context(), bob); done != 0 || err != nil {
		t.Errorf("of nothing: %d, error %v", done, err)
	}
}

func TestWhatDoesNotOpenStopsNoRotation(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(f *fixture)
		done   int
		want   map[string]uint32
		err    error
	}{
		{"one that is damaged", func(f *fixture) { f.envelopes(alice).Data["A"][30] ^= 1 }, 1, map[string]uint32{"A": 1, "B": 2}, nil},
		{"one that is no envelope", func(f *fixture) { f.envelopes(alice).Data["A"] = []byte("x") }, 1, map[string]uint32{"A": 0, "B": 2}, nil},
		{"a salt that is gone", func(f *fixture) { f.Remove(tenant, "alice-salt") }, 0, map[string]uint32{"A": 1, "B": 1}, nil},
		{"a master key that is away", func(f *fixture) { f.master.away = true }, 0, map[string]uint32{"A": 1, "B": 1}, ErrUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			f.must(t, alice, set("A", canary), set("B", canary))
			f.rotate(t, 0, 1, 2)
			test.change(f)
			_, done, err := f.Rewrap(t.Context(), alice)
			if done != test.done || !errors.Is(err, test.err) {
				t.Errorf("%d rewrapped, error %v", done, err)
			}
			if diff := cmp.Diff(test.want, f.under(t)); diff != "" {
				t.Errorf("key versions (-want +got):\n%s", diff)
			}
			if test.err == nil {
				f.expectLog(t, "not rewrapped")
			}
		})
	}
}

// A replica that has not seen the new version yet must not undo it.
func TestALaterVersionIsLeftAlone(t *testing.T) {
	f := newFixture(t, newCluster(), 1, 2)
	f.must(t, alice, set("A", canary))
	ring := must.Value(f.master.WithCurrent(1))(t)
	f.master = &provider{Keyring: ring}
	if got := f.Keys().Current(); got != (envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: 1}) {
		t.Fatalf("current key %s", got)
	}
	writes := f.Writes
	if _, done, err := f.Rewrap(t.Context(), alice); done != 0 || err != nil || f.Writes != writes {
		t.Errorf("%d rewrapped, error %v", done, err)
	}
}
