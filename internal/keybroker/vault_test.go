// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

const canary = "canary-value-nobody-may-see"

var (
	aliceRef = bridgeRef{tenant, "alice", "uid-alice"}
	bobRef   = bridgeRef{tenant, "bob", "uid-bob"}
)

func testVault(t *testing.T, w *world, versions ...uint32) *vault {
	t.Helper()
	return &vault{secrets: w, keys: testRing(t, versions...).envelopes, cluster: "test", random: rand.Reader}
}

func mustSeal(t *testing.T, v *vault, b bridgeRef, name, value string) {
	t.Helper()
	if err := v.seal(t.Context(), b, name, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, v *vault, b bridgeRef) map[string]string {
	t.Helper()
	secrets, err := v.open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, value := range secrets {
		got[name] = string(value)
	}
	return got
}

func TestABridgeGetsBackWhatWasSealedForIt(t *testing.T) {
	w := newWorld()
	v := testVault(t, w, 1)
	if got := opened(t, v, aliceRef); len(got) != 0 {
		t.Errorf("before the first secret: %v", got)
	}
	mustSeal(t, v, aliceRef, "TOKEN", canary)
	mustSeal(t, v, aliceRef, "other.json", "")
	mustSeal(t, v, bobRef, "TOKEN", "bob's")
	mustSeal(t, v, aliceRef, "other.json", "second")
	if diff := cmp.Diff(map[string]string{"TOKEN": canary, "other.json": "second"}, opened(t, v, aliceRef)); diff != "" {
		t.Errorf("alice's (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"TOKEN": "bob's"}, opened(t, v, bobRef)); diff != "" {
		t.Errorf("bob's (-want +got):\n%s", diff)
	}
	for name, s := range w.secrets {
		if strings.Contains(fmt.Sprintf("%q", s.Data), canary) {
			t.Errorf("the plaintext is in Secret %s", name)
		}
	}
}

func TestTheSaltBelongsToTheHostedBridgeAndCannotBeChanged(t *testing.T) {
	w := newWorld()
	v := testVault(t, w, 1)
	mustSeal(t, v, aliceRef, "TOKEN", canary)
	salt := w.secrets[key(tenant, "alice-salt")]
	owner := metav1.GetControllerOf(salt)
	if owner == nil || owner.UID != aliceRef.uid || owner.Name != "alice" || owner.BlockOwnerDeletion != nil {
		t.Errorf("owner %+v", owner)
	}
	if salt.Immutable == nil || !*salt.Immutable || len(salt.Data[saltKey]) != envelope.SaltSize {
		t.Errorf("immutable %v, %d bytes", salt.Immutable, len(salt.Data[saltKey]))
	}
	first := string(salt.Data[saltKey])
	mustSeal(t, v, aliceRef, "TOKEN", canary)
	if string(w.secrets[key(tenant, "alice-salt")].Data[saltKey]) != first {
		t.Error("the second secret changes the salt")
	}
	mustSeal(t, v, bobRef, "TOKEN", canary)
	if string(w.secrets[key(tenant, "bob-salt")].Data[saltKey]) == first {
		t.Error("two users share a salt")
	}
}

func TestANewVersionOpensWhatTheOldOneSealed(t *testing.T) {
	w := newWorld()
	mustSeal(t, testVault(t, w, 1), aliceRef, "OLD", "one")
	both := testVault(t, w, 1, 2)
	mustSeal(t, both, aliceRef, "NEW", "two")
	if diff := cmp.Diff(map[string]string{"OLD": "one", "NEW": "two"}, opened(t, both, aliceRef)); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	header, err := envelope.Inspect(w.secrets[key(tenant, "alice-envelopes")].Data["NEW"])
	if err != nil || header.Key.Version != 2 {
		t.Errorf("sealed by %s, error %v; want version 2", header.Key, err)
	}
}

func TestRefusalsOfTheVault(t *testing.T) {
	now := metav1.Now()
	envelopes := func(w *world) *corev1.Secret { return w.secrets[key(tenant, "alice-envelopes")] }
	salt := func(w *world) *corev1.Secret { return w.secrets[key(tenant, "alice-salt")] }
	for _, test := range []struct {
		name       string
		change     func(w *world)
		seal, open *problem // nil: it works.
	}{
		{"envelopes that are not there", func(w *world) { delete(w.secrets, key(tenant, "alice-envelopes")) }, errNotPrepared, nil},
		{"envelopes of an earlier HostedBridge", func(w *world) { envelopes(w).OwnerReferences[0].UID = "uid-earlier" }, errNotOwned, errNotOwned},
		{"envelopes of nobody", func(w *world) { envelopes(w).OwnerReferences = nil }, errNotOwned, errNotOwned},
		{"envelopes of an object of another kind", func(w *world) { envelopes(w).OwnerReferences[0].Kind = "Deployment" }, errNotOwned, errNotOwned},
		{"envelopes that are being deleted", func(w *world) { envelopes(w).DeletionTimestamp = &now }, errNotPrepared, errNotPrepared},
		{"a salt that is gone", func(w *world) { delete(w.secrets, key(tenant, "alice-salt")) }, errSaltMissing, errSaltMissing},
		{"a salt of an earlier HostedBridge", func(w *world) { salt(w).OwnerReferences[0].UID = "uid-earlier" }, errNotOwned, errNotOwned},
		{"a salt of the wrong size", func(w *world) { salt(w).Data[saltKey] = []byte("short") }, errUnreadable, errUnreadable},
		{"a salt that was exchanged", func(w *world) { salt(w).Data[saltKey] = []byte(strings.Repeat("s", envelope.SaltSize)) }, nil, errUnreadable},
		{"an envelope that was damaged", func(w *world) { envelopes(w).Data["TOKEN"][20] ^= 1 }, nil, errUnreadable},
		{"an envelope that was renamed", func(w *world) { envelopes(w).Data["OTHER"] = envelopes(w).Data["TOKEN"] }, nil, errUnreadable},
		{"an envelope of another user", func(w *world) {
			envelopes(w).Data["TOKEN"] = w.secrets[key(tenant, "bob-envelopes")].Data["TOKEN"]
		}, nil, errUnreadable},
		{"an API server that does not answer", func(w *world) { w.away = errors.New("connection refused") }, errClusterAway, errClusterAway},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			v := testVault(t, w, 1)
			mustSeal(t, v, aliceRef, "TOKEN", canary)
			mustSeal(t, v, bobRef, "TOKEN", canary)
			test.change(w)
			secrets, err := v.open(t.Context(), aliceRef)
			check(t, "open", err, test.open)
			if test.open != nil && secrets != nil {
				t.Error("open: secrets beside an error")
			}
			check(t, "seal", v.seal(t.Context(), aliceRef, "NEW", []byte(canary)), test.seal)
		})
	}
}

func check(t *testing.T, what string, err error, want *problem) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if err == nil || publicProblem(err) != want {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("%s: the plaintext is in the error", what)
	}
}

func TestASecretIsSealedAlthoughOthersWriteMeanwhile(t *testing.T) {
	w := newWorld()
	v := testVault(t, w, 1)
	busy := 0
	w.beforePatch = func() {
		if busy++; busy < maxTries {
			w.touch(w.secrets[key(tenant, "alice-envelopes")])
		}
	}
	mustSeal(t, v, aliceRef, "TOKEN", canary)
	w.beforePatch = func() { w.touch(w.secrets[key(tenant, "alice-envelopes")]) }
	check(t, "seal", v.seal(t.Context(), aliceRef, "TOKEN", []byte(canary)), errConflict)
}

// TestTwoReplicasSealTheFirstSecretsAtOnce: one of the two salts wins, and
// nothing is sealed under the other.
func TestTwoReplicasSealTheFirstSecretsAtOnce(t *testing.T) {
	w := newWorld()
	one, two := testVault(t, w, 1), testVault(t, w, 1)
	var group sync.WaitGroup
	want := map[string]string{}
	for n := range 4 {
		name := fmt.Sprintf("SECRET_%d", n)
		want[name] = name
		v := []*vault{one, two}[n%2]
		group.Go(func() {
			for {
				err := v.seal(t.Context(), aliceRef, name, []byte(name))
				if !errors.Is(err, errConflict) {
					check(t, "seal", err, nil)
					return
				}
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(want, opened(t, one, aliceRef)); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}
