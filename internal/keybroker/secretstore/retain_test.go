// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheTimeOfRetentionIsBesideTheSecretsAndIsNoneOfThem(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("TOKEN", "a"))
	revision := must.Value(f.List(t.Context(), alice))(t).Revision
	expect := func(want time.Time) {
		t.Helper()
		l := must.Value(f.List(t.Context(), alice))(t)
		if !l.RetainedUntil.Equal(want) || len(l.Entries) != 1 || l.Revision != revision {
			t.Errorf("%+v, want it retained until %s", l, want)
		}
	}
	expect(time.Time{})
	must.Succeed(t, f.Retain(t.Context(), alice, start))
	expect(start)
	writes := f.Writes
	must.Succeed(t, f.Retain(t.Context(), alice, start))
	if f.Writes != writes {
		t.Errorf("the same time was written again")
	}
	f.must(t, alice, set("OTHER", "b"))
	f.must(t, alice, remove("OTHER"))
	expect(start)
	must.Succeed(t, f.Retain(t.Context(), alice, time.Time{}))
	expect(time.Time{})
	f.envelopes(alice).Data[retainedKey] = []byte("soon")
	expect(time.Time{})
}

func TestAFullSecretHasRoomForTheTimeOfRetention(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("TOKEN", "a"))
	data := f.envelopes(alice).Data
	left := corev1.MaxSecretSize
	for _, value := range data {
		left -= len(value)
	}
	data["BIG"] = make([]byte, left-retainedSize)
	if _, err := f.change(t, alice, set("MORE", "")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one secret more: %v", err)
	}
	must.Succeed(t, f.Retain(t.Context(), alice, start))
	must.Succeed(t, f.Retain(t.Context(), alice, time.Time{}))
	// Another version may have left less room.
	f.envelopes(alice).Data["BIG"] = make([]byte, left)
	f.must(t, alice, remove("TOKEN"))
}
