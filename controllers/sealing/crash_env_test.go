// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

var errCrash = errors.New("the process ended")

// crashing is a client whose process ends right after its write number limit:
// nothing after that is read or written any more.
type crashing struct {
	limit, writes int
}

func (c *crashing) dead() bool { return c.writes >= c.limit }

func (c *crashing) write(do func() error) error {
	if c.dead() {
		return errCrash
	}
	c.writes++
	if err := do(); err != nil {
		return err
	}
	if c.dead() {
		return errCrash
	}
	return nil
}

func (c *crashing) wrap(inner client.WithWatch) client.WithWatch {
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if c.dead() {
				return errCrash
			}
			return inner.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return c.write(func() error { return inner.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return c.write(func() error { return inner.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return c.write(func() error { return inner.Delete(ctx, o, opts...) })
		},
		SubResourceApply: func(ctx context.Context, inner client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return c.write(func() error { return inner.SubResource(sub).Apply(ctx, o, opts...) })
		},
	})
}

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
	c := &crashing{limit: n}
	f.use(t, c.wrap(sound.(client.WithWatch)))
	err := f.reconcileError(t, b)
	if c.dead() && !errors.Is(err, errCrash) || !c.dead() && err != nil {
		t.Fatalf("%d writes, error %v", c.writes, err)
	}
	if !c.dead() && c.writes != writes {
		t.Errorf("%d writes, want %d", c.writes, writes)
	}
	f.use(t, sound)
	s := f.reconcile(t, b)

	var found []string
	var list corev1.SecretList
	if err := f.List(t.Context(), &list, client.InNamespace(f.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		found = append(found, fmt.Sprintf("Secret %s of %d owners", item.Name, len(item.OwnerReferences)))
	}
	opened, err := f.store.Open(t.Context(), ref(b))
	if err != nil {
		t.Fatal(err)
	}
	listing, err := f.store.List(t.Context(), ref(b))
	if err != nil {
		t.Fatal(err)
	}
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
	return append(found, fmt.Sprintf("%d secrets, missing %v, failures %v, key version %d", s.Count, s.Missing, s.Failures, version))
}
