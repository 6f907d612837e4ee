// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestACrashAfterAnyWriteIsRepaired(t *testing.T) {
	for name, step := range map[string]struct {
		writes int
		// before is done, and reconciled, before the step that is cut off.
		before bool
		step   func(t *testing.T, f *fixture, b *v1alpha1.HostedBridge)
	}{
		// Salt, envelopes, deleted source, status.
		"while the first secrets are sealed": {writes: 4},
		// Envelopes, deleted source, status.
		"while a source is sealed again": {writes: 3, before: true, step: func(t *testing.T, f *fixture, b *v1alpha1.HostedBridge) {
			f.secret(t, "once", map[string]string{"ONCE": "second"})
		}},
		// Envelopes, status.
		"while references are removed": {writes: 2, before: true, step: func(t *testing.T, f *fixture, b *v1alpha1.HostedBridge) {
			f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.SecretRefs = nil })
		}},
		// Envelopes, status.
		"while envelopes are wrapped anew": {writes: 2, before: true, step: func(t *testing.T, f *fixture, b *v1alpha1.HostedBridge) {
			f.keys.set(t, 1, 2)
		}},
		// Salt, envelopes, status.
		"while the secrets of people who left are destroyed": {writes: 3, before: true, step: func(t *testing.T, f *fixture, b *v1alpha1.HostedBridge) {
			f.setAccess(t, b, v1alpha1.AccessOffboarded)
			f.reconcile(t, b)
			f.clock.SetTime(f.clock.Now().Add(f.Settings.Retention))
		}},
	} {
		run := func(t *testing.T, n int) []string {
			f := newFixture(t)
			f.secret(t, "always", map[string]string{"A": "a", "TOKEN": "t"})
			f.secret(t, "once", map[string]string{"ONCE": "first"})
			b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "always"}, deleteSource(v1alpha1.SecretRef{Name: "once"}))
			if step.before {
				f.reconcile(t, b)
				step.step(t, f, b)
			}
			return f.crashed(t, b, n, step.writes)
		}
		want := run(t, 1000)
		for n := 1; n <= step.writes; n++ {
			t.Run(fmt.Sprintf("%s, after write %d", name, n), func(t *testing.T) {
				if diff := cmp.Diff(want, run(t, n)); diff != "" {
					t.Errorf("it is not what it is without a crash (-without +with):\n%s", diff)
				}
			})
		}
	}
}

// crashed reconciles with a crash after the n-th of so many writes, reconciles
// anew, and returns all that there is of the bridge's secrets then.
func (f *fixture) crashed(t *testing.T, b *v1alpha1.HostedBridge, n, writes int) []string {
	t.Helper()
	sound := f.Client
	c := &testenv.Crash{Limit: n}
	f.use(t, c.Client(sound.(client.WithWatch)))
	err := f.reconcileError(t, b)
	if c.Dead() && !errors.Is(err, testenv.ErrCrash) || !c.Dead() && err != nil {
		t.Fatalf("%d writes, error %v", c.Writes, err)
	}
	if !c.Dead() && c.Writes != writes {
		t.Errorf("%d writes, want %d", c.Writes, writes)
	}
	f.use(t, sound)
	s := f.reconcile(t, b)

	var found []string
	var list corev1.SecretList
	must.Succeed(t, f.List(t.Context(), &list, client.InNamespace(f.namespace)))
	for _, item := range list.Items {
		found = append(found, fmt.Sprintf("Secret %s of %d owners", item.Name, len(item.OwnerReferences)))
	}
	opened := must.Value(f.store.Open(t.Context(), ref(b)))(t)
	listing := must.Value(f.store.List(t.Context(), ref(b)))(t)
	for _, e := range listing.Entries {
		found = append(found, fmt.Sprintf("%s=%s under %s, managed %v", e.Name, opened.Values[e.Name], e.Key, e.Managed()))
	}
	testenv.ExpectExists(t, f.Client, b)
	version := int32(0)
	if b.Status.KeyVersion != nil {
		version = *b.Status.KeyVersion
	}
	if (listing.Revision == "") != (s.Revision == "") || listing.Revision != s.Revision {
		t.Errorf("revision %q in the report, %q stored", s.Revision, listing.Revision)
	}
	return append(found, fmt.Sprintf("destroyed %v, %d secrets, missing %v, failures %v, key version %d", s.DestroyedTime, s.Count, s.Missing, s.Failures, version))
}
