// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

func TestLowest(t *testing.T) {
	local, transit := envelope.AlgorithmLocal, envelope.AlgorithmTransit
	for _, test := range []struct {
		name string
		keys []envelope.KeyID
		want envelope.KeyID
	}{
		{"of none is none", nil, envelope.KeyID{}},
		{"is the lowest version", []envelope.KeyID{{Algorithm: local, Version: 3}, {Algorithm: local, Version: 2}, {Algorithm: local, Version: 9}}, envelope.KeyID{Algorithm: local, Version: 2}},
		{"is the local one while envelopes move", []envelope.KeyID{{Algorithm: transit, Version: 1}, {Algorithm: local, Version: 7}}, envelope.KeyID{Algorithm: local, Version: 7}},
		{"does not count what says nothing", []envelope.KeyID{{}, {Algorithm: local, Version: 2}, {}}, envelope.KeyID{Algorithm: local, Version: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var l Listing
			for _, k := range test.keys {
				l.Entries = append(l.Entries, Entry{Key: k})
			}
			if got := l.Lowest(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestManagedIsWhatStillHasItsSource(t *testing.T) {
	for _, test := range []struct {
		source *Source
		want   bool
	}{{nil, false}, {&Source{Secret: "s"}, true}, {&Source{Secret: "s", Deleted: true}, false}} {
		if got := (Entry{Source: test.source}).Managed(); got != test.want {
			t.Errorf("%+v: %v", test.source, got)
		}
	}
}

func TestTheRevisionIsThatOfTheSealedBytes(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	if got := f.list(t, alice).Revision; got != "" {
		t.Errorf("revision %q of nothing", got)
	}
	listing := f.must(t, alice, set("B", "two"), set("A", "one"))
	// Written down once more as the definition has it.
	digest := sha256.New()
	for _, name := range []string{"A", "B"} {
		sealed := f.envelopes(alice).Data[name][73:]
		for _, field := range [][]byte{[]byte(name), sealed} {
			digest.Write(binary.BigEndian.AppendUint32(nil, uint32(len(field))))
			digest.Write(field)
		}
	}
	if want := hex.EncodeToString(digest.Sum(nil))[:16]; listing.Revision != want || f.list(t, alice).Revision != want {
		t.Errorf("revision %s, then %s; want %s", listing.Revision, f.list(t, alice).Revision, want)
	}
}

func TestWhatChangesTheRevision(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(t *testing.T, f *fixture)
		changes bool
	}{
		{"a secret more", func(t *testing.T, f *fixture) { f.must(t, alice, set("C", "three")) }, true},
		{"a secret less", func(t *testing.T, f *fixture) { f.must(t, alice, remove("A")) }, true},
		{"the same value set again", func(t *testing.T, f *fixture) { f.must(t, alice, set("A", "one")) }, true},
		{"damage to the data", func(_ *testing.T, f *fixture) { f.envelopes(alice).Data["A"][90] ^= 1 }, true},
		{"damage to the header", func(_ *testing.T, f *fixture) { f.envelopes(alice).Data["A"][0] ^= 1 }, true},
		{"two names swapped", func(_ *testing.T, f *fixture) {
			data := f.envelopes(alice).Data
			data["A"], data["B"] = data["B"], data["A"]
		}, true},
		{"a source", func(t *testing.T, f *fixture) { f.must(t, alice, Change{Name: "A", Source: &Source{Secret: "s"}}) }, false},
		{"a rotation", func(t *testing.T, f *fixture) {
			f.rotate(t, 0, 1, 2)
			if _, done, err := f.Rewrap(t.Context(), alice); done != 2 || err != nil {
				t.Errorf("%d rewrapped, %v", done, err)
			}
		}, false},
		{"the end of the index", func(_ *testing.T, f *fixture) { delete(f.envelopes(alice).Data, indexKey) }, false},
		{"a key that is no secret's", func(_ *testing.T, f *fixture) { f.envelopes(alice).Data["not-a-name"] = []byte("x") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			before := f.must(t, alice, set("A", "one"), set("B", "two")).Revision
			test.change(t, f)
			after := f.list(t, alice).Revision
			if (before != after) != test.changes {
				t.Errorf("revision %s, then %s", before, after)
			}
			opened, changed, err := f.OpenUnless(t.Context(), alice, before)
			if changed != test.changes || err != nil || opened.Revision != after || (len(opened.Values)+len(opened.Unreadable) > 0) != test.changes {
				t.Errorf("OpenUnless: changed %v, %d values, error %v", changed, len(opened.Values), err)
			}
		})
	}
}

func TestTwoDamagesAreTwoRevisions(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("A", "one"))
	f.envelopes(alice).Data["A"] = []byte("x")
	before := f.list(t, alice).Revision
	f.envelopes(alice).Data["A"] = []byte("y")
	if after := f.list(t, alice).Revision; after == before {
		t.Error("one revision for two contents")
	}
}

func TestAnIndexThatIsDamagedHidesNoSecret(t *testing.T) {
	for name, content := range map[string]string{"no JSON": "{", "null": "null", "another form": `["A"]`, "another time": `{"A":{"created":"yesterday"}}`} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			f.must(t, alice, set("A", "one"))
			f.envelopes(alice).Data[indexKey] = []byte(content)
			got, unreadable := f.values(t, alice)
			if diff := cmp.Diff(map[string]string{"A": "one"}, got); diff != "" || unreadable != nil {
				t.Errorf("unreadable %v, values (-want +got):\n%s", unreadable, diff)
			}
			if !strings.Contains(f.log.String(), "index") {
				t.Errorf("log: %s", f.log.String())
			}
			// The next write mends it.
			f.must(t, alice, set("B", "two"))
			f.log.Reset()
			listing := f.list(t, alice)
			if len(listing.Entries) != 2 || listing.Entries[1].Created != start || !listing.Entries[0].Created.IsZero() || f.log.Len() > 0 {
				t.Errorf("%+v, log %s", listing.Entries, f.log.String())
			}
		})
	}
}
