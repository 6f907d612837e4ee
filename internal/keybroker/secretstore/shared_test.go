// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
)

func TestSecretsOfASharedServerAreItsOwn(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	payments := Shared(tenant, "payments", "uid-1")
	f.must(t, payments, Change{Name: "PAY_TOKEN", Value: []byte(canary), Origin: "https://pay.example.com"})
	// One with the same name and one with the same UID are others.
	namesake, twin := Bridge{tenant, "payments", "uid-2"}, Bridge{tenant, "twin", "uid-1"}
	f.must(t, namesake, set("PAY_TOKEN", "the bridge's"))

	if got, _ := f.values(t, payments); got["PAY_TOKEN"] != canary {
		t.Errorf("%d secrets", len(got))
	}
	if entry, _ := f.list(t, payments).Find("PAY_TOKEN"); entry.Origin != "https://pay.example.com" {
		t.Errorf("origin %q", entry.Origin)
	}
	if entry, _ := f.list(t, namesake).Find("PAY_TOKEN"); entry.Origin != "" {
		t.Errorf("origin %q of a user's secret", entry.Origin)
	}
	sealed, salt := f.Stored[storetest.Key(tenant, "payments.shared.envelopes")], f.Stored[storetest.Key(tenant, "payments.shared.salt")]
	want := []metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "SharedServer", Name: "payments", UID: "uid-1", Controller: new(true)}}
	for _, secret := range []*corev1.Secret{sealed, salt} {
		if diff := cmp.Diff(want, secret.OwnerReferences); diff != "" {
			t.Errorf("owner of %s (-want +got):\n%s", secret.Name, diff)
		}
	}
	// The same bytes open for no HostedBridge, whatever its UID.
	for _, b := range []Bridge{twin, namesake, alice} {
		if opened, _, err := f.OpenBackup(t.Context(), b, sealed, salt); err != nil || len(opened.Values) != 0 || len(opened.Unreadable) != 1 {
			t.Errorf("for %s: %d opened, %v", b.Name, len(opened.Values), err)
		}
	}
	if opened, entries, err := f.OpenBackup(t.Context(), payments, sealed, salt); err != nil || string(opened.Values["PAY_TOKEN"]) != canary || entries[0].Origin == "" {
		t.Errorf("for itself: %d opened, %v", len(opened.Values), err)
	}
}

func TestASharedServerOfTheSameNameIsAnother(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, Shared(tenant, "payments", "uid-1"), set("PAY_TOKEN", canary))
	if _, err := f.List(t.Context(), Shared(tenant, "payments", "uid-2")); !errors.Is(err, ErrNotReady) {
		t.Errorf("a later one of the name: %v", err)
	}
	// A Secret of that name which belongs to a HostedBridge.
	foreign := f.Stored[storetest.Key(tenant, "payments.shared.envelopes")]
	foreign.OwnerReferences[0].Kind = "HostedBridge"
	if _, err := f.List(t.Context(), Shared(tenant, "payments", "uid-1")); !errors.Is(err, ErrNotOwned) {
		t.Errorf("a HostedBridge's Secret: %v", err)
	}
}

func TestSecretsOfASharedServerAreWrappedAgainAndDestroyed(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	payments := Shared(tenant, "payments", "uid-1")
	f.must(t, payments, Change{Name: "PAY_TOKEN", Value: []byte(canary), Origin: "https://pay.example.com"})
	before := f.list(t, payments)
	f.rotate(t, 0, 1, 2)
	after, done, err := f.Rewrap(t.Context(), payments)
	if err != nil || done != 1 || after.Revision != before.Revision || after.Entries[0].Key.Version != 2 || after.Entries[0].Origin == "" {
		t.Errorf("%d wrapped again, %+v, %v", done, after, err)
	}
	if got, _ := f.values(t, payments); got["PAY_TOKEN"] != canary {
		t.Error("it does not open")
	}
	if err := f.Destroy(t.Context(), payments); err != nil || len(f.Stored) != 0 {
		t.Errorf("%d Secrets are left, %v", len(f.Stored), err)
	}
}
