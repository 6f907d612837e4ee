// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

func TestAStoreWithAPartMissingIsNotMade(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	for name, remove := range map[string]func(*Config){
		"secrets": func(c *Config) { c.Secrets = nil }, "keys": func(c *Config) { c.Keys = nil },
		"cluster": func(c *Config) { c.Cluster = "" }, "randomness": func(c *Config) { c.Random = nil },
		"clock": func(c *Config) { c.Now = nil }, "log": func(c *Config) { c.Log = nil },
	} {
		c := f.Config
		remove(&c)
		if _, err := New(c); err == nil {
			t.Errorf("made without %s", name)
		}
	}
}

func TestABridgeGetsBackWhatWasSetForIt(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	if got, unreadable := f.values(t, alice); len(got) != 0 || unreadable != nil || f.Writes != 0 {
		t.Errorf("before the first secret: %v, %v, %d writes", got, unreadable, f.Writes)
	}
	if opened, changed, err := f.OpenUnless(t.Context(), alice, ""); !changed || opened.Values == nil || err != nil {
		t.Errorf("before the first secret: changed %v, error %v", changed, err)
	}
	f.must(t, alice, set("TOKEN", canary), set("other.json", ""))
	f.must(t, bob, set("TOKEN", "bob's"))
	f.must(t, alice, set("other.json", "second"))
	f.must(t, alice, set("GONE", "x"))
	f.must(t, alice, remove("GONE"), remove("NEVER_THERE"))
	for b, want := range map[Bridge]map[string]string{
		alice: {"TOKEN": canary, "other.json": "second"}, bob: {"TOKEN": "bob's"},
	} {
		got, unreadable := f.values(t, b)
		if diff := cmp.Diff(want, got); diff != "" || unreadable != nil {
			t.Errorf("%s: unreadable %v, values (-want +got):\n%s", b.Name, unreadable, diff)
		}
	}
	for name, s := range f.Stored {
		if strings.Contains(fmt.Sprintf("%q", s.Data), canary) {
			t.Errorf("the plaintext is in Secret %s", name)
		}
	}
}

func TestWhatIsKnownOfASecretWithoutOpeningIt(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	source := &Source{Secret: "github", Key: "token", UID: "uid-1", ResourceVersion: "7"}
	f.must(t, alice, Change{Name: "MANAGED", Value: []byte("abc"), Source: source}, set("OWN", "ab"))
	f.now = start.Add(time.Hour + time.Millisecond)
	moved := *source
	moved.ResourceVersion = "8"
	f.must(t, alice, Change{Name: "MANAGED", Source: &moved}, set("OWN", "abcd"))
	f.rotate(t, 0, 1, 2)
	f.now = start.Add(2 * time.Hour)
	listing := f.must(t, alice, set("z.json", ""))
	key := func(v uint32) envelope.KeyID { return envelope.KeyID{Algorithm: envelope.AlgorithmLocal, Version: v} }
	want := []Entry{
		{Name: "MANAGED", Size: 3, Key: key(1), Created: start, Updated: start, Source: &moved},
		{Name: "OWN", Size: 4, Key: key(1), Created: start, Updated: start.Add(time.Hour)},
		{Name: "z.json", Size: 0, Key: key(2), Created: start.Add(2 * time.Hour), Updated: start.Add(2 * time.Hour)},
	}
	if diff := cmp.Diff(want, listing.Entries); diff != "" {
		t.Errorf("after the write (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, f.list(t, alice).Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got := listing.Lowest(); got != key(1) {
		t.Errorf("lowest key %s", got)
	}
	// The source ends and the secret stays.
	listing = f.must(t, alice, Change{Name: "MANAGED"})
	if e, _ := listing.Find("MANAGED"); e.Source != nil || !e.Updated.Equal(start) {
		t.Errorf("%+v", e)
	}
	// What is removed and set again is new.
	f.must(t, alice, remove("OWN"))
	listing = f.must(t, alice, set("OWN", "x"))
	if e, _ := listing.Find("OWN"); !e.Created.Equal(start.Add(2 * time.Hour)) {
		t.Errorf("%+v", e)
	}
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	source := Source{Secret: "s", Key: "k"}
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, Change{Name: "A", Value: []byte("one"), Source: &source}, set("B", "two"))
	before := f.Writes
	same := source
	for name, changes := range map[string][]Change{
		"no change": nil, "the source that it has": {{Name: "A", Source: &same}}, "no source where there is none": {{Name: "B"}},
		"a removal of what is not there": {remove("C")}, "a source of what is not there": {{Name: "C", Source: &same}},
	} {
		if listing := f.must(t, alice, changes...); len(listing.Entries) != 2 || f.Writes != before {
			t.Errorf("%s: %d entries, %d writes", name, len(listing.Entries), f.Writes-before)
		}
	}
	if f.must(t, bob, remove("A")); f.envelopes(bob) != nil || f.salt(bob) != nil {
		t.Error("a removal makes a Secret")
	}
}

func TestBothSecretsAreTheHostedBridgesAndTheInstallations(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	long := Bridge{tenant, strings.Repeat("a", 100), "uid-long"}
	f.must(t, alice, set("TOKEN", canary))
	f.must(t, long, set("TOKEN", canary))
	yes := true
	wantOwner := []metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: "alice", UID: "uid-alice", Controller: &yes}}
	wantLabels := map[string]string{
		"app.kubernetes.io/name": "hosted-bridge", "app.kubernetes.io/managed-by": "hosted-bridge-keybroker", "app.kubernetes.io/instance": "alice",
	}
	for what, s := range map[string]*corev1.Secret{"envelopes": f.envelopes(alice), "salt": f.salt(alice)} {
		if diff := cmp.Diff(wantOwner, s.OwnerReferences); diff != "" {
			t.Errorf("%s' owners (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(wantLabels, s.Labels); diff != "" {
			t.Errorf("%s' labels (-want +got):\n%s", what, diff)
		}
		if s.Type != corev1.SecretTypeOpaque {
			t.Errorf("%s have type %q", what, s.Type)
		}
	}
	salt := f.salt(alice)
	if salt.Immutable == nil || !*salt.Immutable || len(salt.Data[SaltKey]) != envelope.SaltSize || f.envelopes(alice).Immutable != nil {
		t.Errorf("immutable %v, %d bytes", salt.Immutable, len(salt.Data[SaltKey]))
	}
	if len(f.Stored) != 4 {
		t.Errorf("%d Secrets, want two for each", len(f.Stored))
	}
	for name, s := range f.Stored {
		if len(s.Labels["app.kubernetes.io/instance"]) > 63 || len(name) > len(tenant)+1+63 {
			t.Errorf("Secret %s", name)
		}
	}
	f.must(t, alice, set("OTHER", canary))
	f.must(t, bob, set("OTHER", canary))
	first := string(salt.Data[SaltKey])
	if string(f.salt(alice).Data[SaltKey]) != first || string(f.salt(bob).Data[SaltKey]) == first {
		t.Error("a salt changes, or is that of two users")
	}
}

func TestWhatIsNotTheBridgesIsNeitherReadNorWritten(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name        string
		change      func(f *fixture)
		set, open   error // nil: it works.
		unreadable  bool
		setReadable bool // What is set after that opens.
	}{
		{"envelopes of an earlier HostedBridge", func(f *fixture) { f.envelopes(alice).OwnerReferences[0].UID = "uid-earlier" }, ErrNotReady, ErrNotReady, false, false},
		{"envelopes of nobody", func(f *fixture) { f.envelopes(alice).OwnerReferences = nil }, ErrNotOwned, ErrNotOwned, false, false},
		{"envelopes of an object of another kind", func(f *fixture) { f.envelopes(alice).OwnerReferences[0].Kind = "Deployment" }, ErrNotOwned, ErrNotOwned, false, false},
		{"envelopes of another group's HostedBridge", func(f *fixture) { f.envelopes(alice).OwnerReferences[0].APIVersion = "example.com/v1" }, ErrNotOwned, ErrNotOwned, false, false},
		{"envelopes whose owner does not control", func(f *fixture) { f.envelopes(alice).OwnerReferences[0].Controller = nil }, ErrNotOwned, ErrNotOwned, false, false},
		{"envelopes of another user whose Secret has the same name", func(f *fixture) {
			f.envelopes(alice).OwnerReferences[0].Name, f.envelopes(alice).OwnerReferences[0].UID = "carol", "uid-carol"
		}, ErrNotOwned, ErrNotOwned, false, false},
		{"envelopes that are being deleted", func(f *fixture) { f.envelopes(alice).DeletionTimestamp = &now }, ErrNotReady, ErrNotReady, false, false},
		{"envelopes of a later version of the API", func(f *fixture) { f.envelopes(alice).OwnerReferences[0].APIVersion = "hostedbridge.dev/v1" }, nil, nil, false, true},
		{"a salt of an earlier HostedBridge", func(f *fixture) { f.salt(alice).OwnerReferences[0].UID = "uid-earlier" }, ErrNotReady, ErrNotReady, false, false},
		{"a salt that is being deleted", func(f *fixture) { f.salt(alice).DeletionTimestamp = &now }, ErrNotReady, ErrNotReady, false, false},
		{"a salt of somebody else", func(f *fixture) { f.salt(alice).OwnerReferences = nil }, ErrNotOwned, nil, true, false},
		{"a salt that is gone", func(f *fixture) { f.Remove(tenant, "alice-salt") }, ErrSaltMissing, nil, true, false},
		{"a salt of the wrong size", func(f *fixture) { f.salt(alice).Data[SaltKey] = []byte("short") }, ErrSaltInvalid, nil, true, false},
		{"a salt of zeroes", func(f *fixture) { f.salt(alice).Data[SaltKey] = make([]byte, 32) }, ErrSaltInvalid, nil, true, false},
		{"a Secret of the salt without one", func(f *fixture) { f.salt(alice).Data = nil }, ErrSaltInvalid, nil, true, false},
		{"a salt that was exchanged", func(f *fixture) { f.salt(alice).Data[SaltKey] = []byte(strings.Repeat("s", 32)) }, nil, nil, true, true},
		{"an API server that does not answer", func(f *fixture) { f.Err = errors.New("connection refused") }, ErrUnavailable, ErrUnavailable, false, false},
		{"an API server that forbids", func(f *fixture) { f.Err = apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("rbac")) }, ErrForbidden, ErrForbidden, false, false},
		{"a master key that is away", func(f *fixture) { f.master.away = true }, ErrUnavailable, ErrUnavailable, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, newCluster(), 1)
			f.must(t, alice, set("TOKEN", canary))
			f.must(t, bob, set("TOKEN", canary))
			test.change(f)
			writes := f.Writes
			opened, err := f.Open(t.Context(), alice)
			expect(t, "open", err, test.open)
			if test.unreadable != cmp.Equal([]string{"TOKEN"}, opened.Unreadable) || (test.open == nil && !test.unreadable) != (len(opened.Values) == 1) {
				t.Errorf("opened %d, unreadable %v", len(opened.Values), opened.Unreadable)
			}
			_, err = f.change(t, alice, set("NEW", canary))
			expect(t, "set", err, test.set)
			if test.set != nil {
				if f.Writes != writes {
					t.Error("written in spite of the error")
				}
				return
			}
			if got, _ := f.values(t, alice); test.setReadable != (got["NEW"] == canary) {
				t.Error("what was set does not open")
			}
		})
	}
}

func expect(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("%s: the plaintext is in the error", what)
	}
}

func TestWhoseMasterKeyIsAwayIsToldFromWhoseAPIServerIs(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("TOKEN", canary))
	f.master.away = true
	if _, err := f.Open(t.Context(), alice); !errors.Is(err, envelope.ErrUnavailable) || errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v", err)
	}
	f.master.away, f.Err = false, errors.New("connection refused")
	if _, err := f.Open(t.Context(), alice); errors.Is(err, envelope.ErrUnavailable) || errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v", err)
	}
}

func TestChangesThatCannotBeMeant(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	for name, changes := range map[string][]Change{
		"the index": {set(indexKey, "x")}, "no name": {set("", "x")}, "lower case": {set("token", "x")},
		"a bad name beside a good one": {set("GOOD", "x"), remove("bad")}, "one name twice": {set("A", "x"), remove("A")},
	} {
		if _, err := f.change(t, alice, changes...); !errors.Is(err, ErrName) || f.Writes != 0 {
			t.Errorf("%s: error %v, %d writes", name, err, f.Writes)
		}
	}
	refusal := errors.New("not today")
	_, err := f.Update(t.Context(), alice, func(context.Context, Listing, func(string) ([]byte, error)) ([]Change, error) {
		return []Change{set("A", "x")}, refusal
	})
	if !errors.Is(err, refusal) || f.Writes != 0 {
		t.Errorf("error %v, %d writes", err, f.Writes)
	}
}

func TestWhoDecidesCanOpenWhatThereIs(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("GOOD", canary), set("BAD", canary), set("EMPTY", ""))
	f.envelopes(alice).Data["BAD"][30] ^= 1
	reads := f.Reads
	look := func(want map[string]error) {
		t.Helper()
		_, err := f.Update(t.Context(), alice, func(_ context.Context, _ Listing, open func(string) ([]byte, error)) ([]Change, error) {
			for name, wantErr := range want {
				value, err := open(name)
				if !errors.Is(err, wantErr) || (err == nil && name == "GOOD") != (string(value) == canary) {
					t.Errorf("%s: %d bytes, error %v; want %v", name, len(value), err, wantErr)
				}
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	look(map[string]error{"GOOD": nil, "EMPTY": nil, "BAD": ErrUnreadable, "NONE": ErrNotFound})
	if f.Reads != reads+2 {
		t.Errorf("%d reads, want one for the envelopes and one for the salt", f.Reads-reads)
	}
	f.master.away = true
	look(map[string]error{"GOOD": ErrUnavailable})
	f.master.away = false
	f.Remove(tenant, "alice-salt")
	look(map[string]error{"GOOD": ErrUnreadable})
	look(map[string]error{"GOOD": ErrSaltMissing})
}

func TestMoreThanCanBeStored(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	if _, err := f.change(t, alice, set("A", strings.Repeat("x", envelope.MaxPlaintext+1))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one that is too large: %v", err)
	}
	largest := strings.Repeat("x", envelope.MaxPlaintext)
	n := 0
	for ; n < 17; n++ {
		if _, err := f.change(t, alice, set(fmt.Sprintf("BIG_%d", n), largest)); err != nil {
			if !errors.Is(err, ErrTooLarge) || strings.Contains(err.Error(), "xxx") {
				t.Error(err)
			}
			break
		}
	}
	if n != 15 {
		t.Errorf("%d of the largest fit, want 15", n)
	}
	if got, _ := f.values(t, alice); len(got) != 15 {
		t.Errorf("%d secrets open", len(got))
	}
	// In place of another there is room.
	f.must(t, alice, set("BIG_0", largest))
	f.must(t, alice, remove("BIG_0"), set("BIG_X", largest))
	f.Secrets = refusing{f.cluster, apierrors.NewRequestEntityTooLargeError("x"), []string{"patch"}}
	if _, err := f.change(t, alice, set("BIG_0", "")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the API server's word: %v", err)
	}
}

func TestAWriteSucceedsAlthoughOthersWriteMeanwhile(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("TOKEN", "x"))
	busy := 0
	f.BeforePatch = func() {
		if busy++; busy < maxTries {
			f.Touch(f.envelopes(alice))
		}
	}
	f.must(t, alice, set("TOKEN", canary))
	f.BeforePatch = func() { f.Touch(f.envelopes(alice)) }
	if _, err := f.change(t, alice, set("TOKEN", "never")); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v", err)
	}
	f.rotate(t, 0, 1, 2)
	if _, done, err := f.Rewrap(t.Context(), alice); !errors.Is(err, ErrConflict) || done != 0 {
		t.Errorf("rewrap: %d, error %v", done, err)
	}
	f.BeforePatch = func() { f.Remove(tenant, "alice-envelopes"); f.BeforePatch = nil }
	f.must(t, alice, set("OTHER", canary))
	if got, _ := f.values(t, alice); got["OTHER"] != canary || len(got) != 1 {
		t.Errorf("%d secrets after the Secret went", len(got))
	}
}

func TestTwoWritersAtOnceLoseNothing(t *testing.T) {
	c := newCluster()
	f, other := newFixture(t, c, 1), newFixture(t, c, 1)
	const each = 8
	var group sync.WaitGroup
	want := map[string]string{}
	for n := range 2 * each {
		want[fmt.Sprintf("SECRET_%d", n)] = fmt.Sprintf("value %d", n)
	}
	for w, writer := range []*fixture{f, other} {
		group.Go(func() {
			for n := range each {
				name := fmt.Sprintf("SECRET_%d", w*each+n)
				if _, err := writer.change(t, alice, set(name, want[name])); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got, unreadable := f.values(t, alice)
	if diff := cmp.Diff(want, got); diff != "" || unreadable != nil {
		t.Errorf("unreadable %v, secrets (-want +got):\n%s", unreadable, diff)
	}
	for _, e := range f.list(t, alice).Entries {
		if !e.Created.Equal(start) {
			t.Errorf("%s is not in the index", e.Name)
		}
	}
}
