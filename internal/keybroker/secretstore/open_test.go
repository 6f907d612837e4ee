// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestNoMutantOpens changes what is stored in every way that somebody who may
// write the Secrets could, and looks at what comes of it: the one secret is
// unreadable, the others are there, and the log says why without any data.
func TestNoMutantOpens(t *testing.T) {
	token := func(f *fixture) []byte { return f.envelopes(alice).Data["TOKEN"] }
	put := func(f *fixture, sealed []byte) { f.envelopes(alice).Data["TOKEN"] = sealed }
	mutants := map[string]func(t *testing.T, f *fixture){
		"an envelope of another user": func(_ *testing.T, f *fixture) { put(f, f.envelopes(bob).Data["TOKEN"]) },
		"two secrets swapped":         func(_ *testing.T, f *fixture) { put(f, f.envelopes(alice).Data["SPARE"]) },
		"a renamed secret": func(_ *testing.T, f *fixture) {
			put(f, f.envelopes(alice).Data["SPARE"])
			delete(f.envelopes(alice).Data, "SPARE")
		},
		"nothing in its place":    func(_ *testing.T, f *fixture) { put(f, nil) },
		"a byte more":             func(_ *testing.T, f *fixture) { put(f, append(bytes.Clone(token(f)), 0)) },
		"the envelope twice":      func(_ *testing.T, f *fixture) { put(f, append(bytes.Clone(token(f)), token(f)...)) },
		"the plaintext itself":    func(_ *testing.T, f *fixture) { put(f, []byte(canary)) },
		"a later format":          func(_ *testing.T, f *fixture) { token(f)[3] = '2' },
		"an unknown algorithm":    func(_ *testing.T, f *fixture) { token(f)[4] = 9 },
		"a provider not there":    func(_ *testing.T, f *fixture) { token(f)[4] = byte(envelope.AlgorithmTransit) },
		"a key that is not there": func(_ *testing.T, f *fixture) { token(f)[8] = 77 },
		"another cluster's": func(t *testing.T, f *fixture) {
			there := newFixture(t, newCluster(), 1)
			there.Cluster = "elsewhere"
			there.must(t, alice, set("TOKEN", canary))
			// The same salt there: only the cluster's name differs.
			there.salt(alice).Data = maps.Clone(f.salt(alice).Data)
			there.must(t, alice, set("TOKEN", canary))
			put(f, there.envelopes(alice).Data["TOKEN"])
		},
		"an earlier HostedBridge's of the same name": func(t *testing.T, f *fixture) {
			earlier, there := alice, newFixture(t, newCluster(), 1)
			earlier.UID = "uid-earlier"
			there.must(t, earlier, set("TOKEN", canary))
			put(f, there.envelopes(earlier).Data["TOKEN"])
		},
		"a key that is retired": func(t *testing.T, f *fixture) {
			old := bytes.Clone(token(f))
			f.rotate(t, 0, 1, 2)
			if _, done, err := f.Rewrap(t.Context(), alice); err != nil || done != 3 {
				t.Fatalf("%d rewrapped, %v", done, err)
			}
			f.rotate(t, 2, 1, 2)
			put(f, old)
		},
	}
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			f.must(t, alice, set("TOKEN", canary), set("SPARE", "spare"), set("GOOD", "good"))
			f.must(t, bob, set("TOKEN", canary))
			mutate(t, f)
			f.log.Reset()
			got, unreadable := f.values(t, alice)
			if got["GOOD"] != "good" || got["TOKEN"] != "" || !cmp.Equal([]string{"TOKEN"}, unreadable) {
				t.Errorf("%d opened, unreadable %v", len(got), unreadable)
			}
			f.expectLog(t, `"secret":"TOKEN"`, `"namespace":"tenants"`, `"hostedBridge":"alice"`, `"uid":"uid-alice"`, `"error":"the secret cannot be opened: Secret tenants/alice-envelopes: open \"TOKEN\": `)
		})
	}
}

// expectLog looks for these in the log, and for data, which may not be there.
func (f *fixture) expectLog(t *testing.T, want ...string) {
	t.Helper()
	log := f.log.String()
	for _, s := range want {
		if !strings.Contains(log, s) {
			t.Errorf("%s is not in the log: %s", s, log)
		}
	}
	data := [][]byte{[]byte(canary)}
	for _, s := range f.Stored {
		for key, value := range s.Data {
			if key != indexKey && len(value) > 8 {
				data = append(data, value, value[len(value)-8:])
			}
		}
	}
	for _, value := range data {
		for _, form := range []string{string(value), base64.StdEncoding.EncodeToString(value), hex.EncodeToString(value)} {
			if strings.Contains(log, form) {
				t.Error("data is in the log")
			}
		}
	}
}

// TestNoBitOfAnEnvelopeCanBeFlipped is exhaustive: every bit, every length.
func TestNoBitOfAnEnvelopeCanBeFlipped(t *testing.T) {
	f := newFixture(t, newCluster(), 1, 2)
	f.must(t, alice, set("TOKEN", canary))
	good := bytes.Clone(f.envelopes(alice).Data["TOKEN"])
	refused := func(what string, at int, mutant []byte) {
		t.Helper()
		f.envelopes(alice).Data["TOKEN"] = mutant
		if got, unreadable := f.values(t, alice); len(got) != 0 || len(unreadable) != 1 {
			t.Errorf("%s %d: opens", what, at)
		}
	}
	for at := range len(good) * 8 {
		mutant := bytes.Clone(good)
		mutant[at/8] ^= 1 << (at % 8)
		refused("bit", at, mutant)
	}
	for size := range good {
		refused("cut to", size, good[:size])
	}
	f.expectLog(t, `"secret":"TOKEN"`)
	f.envelopes(alice).Data["TOKEN"] = good
	if got, _ := f.values(t, alice); got["TOKEN"] != canary {
		t.Error("the envelope itself does not open")
	}
}

// TestWithoutTheSaltNothingOpensAgain is crypto-shredding: neither what is left,
// nor what comes back from a backup of the envelopes alone.
func TestWithoutTheSaltNothingOpensAgain(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("TOKEN", canary), set("OTHER", canary))
	backup := f.envelopes(alice).DeepCopy()
	f.Remove(tenant, "alice-salt")
	lost := func(when string, names ...string) {
		t.Helper()
		f.log.Reset()
		got, unreadable := f.values(t, alice)
		if !cmp.Equal(names, unreadable) {
			t.Errorf("%s: unreadable %v, want %v", when, unreadable, names)
		}
		for name, value := range got {
			if value == canary {
				t.Errorf("%s: %s opens", when, name)
			}
		}
		f.expectLog(t, "not opened")
	}
	lost("after the salt's deletion", "OTHER", "TOKEN")

	// No salt is made beside what is lost, until that is removed.
	for _, name := range []string{"NEW", "TOKEN"} {
		if _, err := f.change(t, alice, set(name, "x")); !errors.Is(err, ErrSaltMissing) || f.salt(alice) != nil {
			t.Fatalf("set %s: error %v", name, err)
		}
	}
	f.must(t, alice, remove("TOKEN"))
	if _, err := f.change(t, alice, set("NEW", "x")); !errors.Is(err, ErrSaltMissing) || f.salt(alice) != nil {
		t.Fatalf("one of two removed: error %v", err)
	}
	f.must(t, alice, remove("OTHER"))
	f.must(t, alice, set("NEW", "x"))
	if got, unreadable := f.values(t, alice); got["NEW"] != "x" || unreadable != nil {
		t.Errorf("anew: %v, unreadable %v", got, unreadable)
	}

	// An older version put back beside the new salt.
	maps.Copy(f.envelopes(alice).Data, map[string][]byte{"TOKEN": backup.Data["TOKEN"], "OTHER": backup.Data["OTHER"]})
	lost("put back beside what is new", "OTHER", "TOKEN")
	// And the whole Secret as it was, with a user who has no salt any more.
	f.Remove(tenant, "alice-salt")
	f.Stored[storetest.Key(tenant, "alice-envelopes")] = backup
	lost("put back alone", "OTHER", "TOKEN")
}

func TestAllThatIsLostCanBeReplacedAtOnce(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("A", "old"), set("B", "old"), set("C", "old"))
	f.Remove(tenant, "alice-salt")
	// At no moment a salt beside an old envelope, whenever the process ends.
	f.BeforePatch = func() {
		if f.salt(alice) != nil && len(f.envelopes(alice).Data) > 1 {
			t.Error("a new salt beside old envelopes")
		}
	}
	f.must(t, alice, set("A", "new"), set("B", "new"), remove("C"))
	got, unreadable := f.values(t, alice)
	if diff := cmp.Diff(map[string]string{"A": "new", "B": "new"}, got); diff != "" || unreadable != nil {
		t.Errorf("unreadable %v, values (-want +got):\n%s", unreadable, diff)
	}
}

func TestABackupOpensForWhomItWasSealed(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	source := &Source{Secret: "s", Key: "k"}
	f.must(t, alice, set("TOKEN", canary), Change{Name: "a.json", Value: []byte("{}"), Source: source})
	envelopes, salt := f.envelopes(alice).DeepCopy(), f.salt(alice).DeepCopy()
	// Restored objects have lost their owner.
	envelopes.OwnerReferences, salt.OwnerReferences = nil, nil
	there := newFixture(t, newCluster(), 1)
	opened, entries, err := there.OpenBackup(t.Context(), alice, envelopes, salt)
	if err != nil || string(opened.Values["TOKEN"]) != canary || string(opened.Values["a.json"]) != "{}" || opened.Unreadable != nil {
		t.Errorf("%d opened, unreadable %v, error %v", len(opened.Values), opened.Unreadable, err)
	}
	if diff := cmp.Diff(f.list(t, alice).Entries, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}

	renewed := alice
	renewed.UID = "uid-renewed"
	for range 2 { // A restore can be repeated.
		must.Succeed(t, there.Replace(t.Context(), renewed, opened.Values, entries))
	}
	if got, _ := there.values(t, renewed); got["TOKEN"] != canary || got["a.json"] != "{}" {
		t.Errorf("%d secrets after the restore", len(got))
	}
	if diff := cmp.Diff(entries, there.list(t, renewed).Entries); diff != "" {
		t.Errorf("entries after the restore (-want +got):\n%s", diff)
	}
	if there.Writes != 2 {
		t.Errorf("%d writes, want one for the salt and one for the envelopes", there.Writes)
	}

	for name, test := range map[string]struct {
		uid             string
		envelopes, salt *corev1.Secret
		unreadable      int
		err             error
	}{
		"somebody else's UID":        {"uid-bob", envelopes, salt, 2, nil},
		"no salt":                    {"uid-alice", envelopes, nil, 0, ErrSaltMissing},
		"a salt that is none":        {"uid-alice", envelopes, envelopes, 0, ErrSaltInvalid},
		"no envelopes":               {"uid-alice", nil, nil, 0, nil},
		"no envelopes in the Secret": {"uid-alice", &corev1.Secret{}, nil, 0, nil},
	} {
		opened, _, err := there.OpenBackup(t.Context(), Bridge{tenant, "alice", types.UID(test.uid)}, test.envelopes, test.salt)
		if !errors.Is(err, test.err) || len(opened.Unreadable) != test.unreadable || len(opened.Values) != 0 {
			t.Errorf("%s: %d opened, unreadable %v, error %v", name, len(opened.Values), opened.Unreadable, err)
		}
	}
}

func TestARestoreOverwritesNothing(t *testing.T) {
	values := map[string][]byte{"A": []byte("one"), "B": nil}
	for _, test := range []struct {
		name   string
		before []Change
		lose   bool
		err    error
	}{
		{"into nothing", nil, false, nil},
		{"beside a part of itself", []Change{set("A", "one")}, false, nil},
		{"beside another value", []Change{set("A", "two")}, false, ErrExists},
		{"beside another secret", []Change{set("C", "one")}, false, ErrExists},
		{"beside what does not open", []Change{set("A", "one")}, true, ErrUnreadable},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			f.must(t, alice, test.before...)
			if test.lose {
				f.Remove(tenant, "alice-salt")
			}
			writes := f.Writes
			err := f.Replace(t.Context(), alice, values, nil)
			expect(t, "restore", err, test.err)
			if test.err != nil {
				if f.Writes != writes {
					t.Error("written in spite of the error")
				}
				return
			}
			got, unreadable := f.values(t, alice)
			if diff := cmp.Diff(map[string]string{"A": "one", "B": ""}, got); diff != "" || unreadable != nil {
				t.Errorf("unreadable %v, values (-want +got):\n%s", unreadable, diff)
			}
			if e, _ := f.list(t, alice).Find("B"); !e.Created.Equal(start) || !e.Updated.Equal(start) {
				t.Errorf("%+v", e)
			}
		})
	}
}
