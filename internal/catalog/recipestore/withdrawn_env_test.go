// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// theft is a catalog in which somebody who has taken the ingress over tries to
// have keys work that do not.
type theft struct {
	*fixture

	ingress client.Client
	name    string
	// have are the keys of the publisher: one that was withdrawn, one that has
	// expired, one that expires later and one that works.
	have []v1alpha1.PublisherKey
	// others have an id of these each, and another secret.
	others []v1alpha1.PublisherKey
	// refused are keys that must not work: the first two, and all of the others.
	refused []string
}

func newTheft(t *testing.T) *theft {
	t.Helper()
	f := start(t)
	ingress := must.Value(client.New(ingressConfig(), client.Options{Scheme: testenv.Scheme()}))(t)
	x := &theft{fixture: f, ingress: ingress, name: "acme"}
	for i, id := range []string{"w", "e", "l", "k"} {
		key, entry := mintFrom(t, id, "1")
		other, otherEntry := mintFrom(t, id, "2")
		if i < 2 {
			x.refused = append(x.refused, key)
		}
		x.refused = append(x.refused, other)
		x.have, x.others = append(x.have, entry), append(x.others, otherEntry)
	}
	now := time.Now().Truncate(time.Second)
	x.have[0].RevokedAt = new(metav1.NewTime(now.Add(-time.Hour)))
	x.have[1].ExpiresAt = new(metav1.NewTime(now.Add(-time.Minute)))
	x.have[2].ExpiresAt = new(metav1.NewTime(now.Add(time.Hour)))
	for i := range x.have {
		x.have[i].CreatedAt = new(metav1.NewTime(now.Add(-2 * time.Hour)))
	}
	x.reset()
	// The API server takes a policy up some time after it was made.
	wait.Until(t, "the policy holds", func() bool {
		o := x.publisherObject(x.name)
		before := o.DeepCopy()
		o.Labels = map[string]string{"a": "b"}
		return x.ingress.Patch(t.Context(), o, client.MergeFrom(before), client.DryRunAll) != nil
	})
	return x
}

// reset has the catalog be as it was before the first step.
func (x *theft) reset() {
	x.t.Helper()
	must.Succeed(x.t, x.api.DeleteAllOf(x.t.Context(), &v1alpha1.CatalogPublisher{}, client.InNamespace(x.namespace)))
	o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: x.name}}
	o.Spec.Keys = slices.Clone(x.have)
	testenv.ExpectApplied(x.t, x.api, o)
}

// patch changes the publisher's keys as the ingress.
func (x *theft) patch(change func([]v1alpha1.PublisherKey) []v1alpha1.PublisherKey) error {
	x.t.Helper()
	o := x.publisherObject(x.name)
	before := o.DeepCopy()
	o.Spec.Keys = change(o.Spec.Keys)
	return x.ingress.Patch(x.t.Context(), o, client.MergeFrom(before))
}

// create makes another publisher with these keys as the ingress.
func (x *theft) create(keys ...v1alpha1.PublisherKey) error {
	o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, GenerateName: "other-"}}
	o.Spec.Keys = keys
	return x.ingress.Create(x.t.Context(), o)
}

// open returns those keys that open the write routes.
func (x *theft) open(keys []string) []string {
	x.t.Helper()
	list := &v1alpha1.CatalogPublisherList{}
	must.Succeed(x.t, x.api.List(x.t.Context(), list, client.InNamespace(x.namespace)))
	var all []*v1alpha1.CatalogPublisher
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	s := offline(x.t, time.Now)
	s.replacePublishers(all)
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, _, ok := s.PublisherByKey(key)
		return !ok
	})
}

// without returns the keys without that of the id.
func without(keys []v1alpha1.PublisherKey, id string) []v1alpha1.PublisherKey {
	return slices.DeleteFunc(slices.Clone(keys), func(k v1alpha1.PublisherKey) bool { return k.ID == id })
}

// bare returns the entry with its id and hash alone.
func bare(k v1alpha1.PublisherKey) v1alpha1.PublisherKey {
	return v1alpha1.PublisherKey{ID: k.ID, Hash: k.Hash}
}

// TestNoTwoWritesOfTheIngressMakeAKeyWorkAgain tries each pair of writes that
// somebody may make who has taken the ingress over: after it no key works that was
// withdrawn or has expired, and no other one under an id that is known.
func TestNoTwoWritesOfTheIngressMakeAKeyWorkAgain(t *testing.T) {
	x := newTheft(t)
	named := []string{"the withdrawn key", "the expired key", "the key that expires later", "the working key"}
	steps := map[string]func() error{
		"all keys are removed": func() error {
			return x.patch(func([]v1alpha1.PublisherKey) []v1alpha1.PublisherKey { return nil })
		},
		"all keys are replaced by other ones of their ids": func() error {
			return x.patch(func([]v1alpha1.PublisherKey) []v1alpha1.PublisherKey { return x.others })
		},
	}
	for i, k := range x.have {
		steps[named[i]+" is removed"] = func() error {
			return x.patch(func(keys []v1alpha1.PublisherKey) []v1alpha1.PublisherKey { return without(keys, k.ID) })
		}
		steps[named[i]+" is another one"] = func() error {
			return x.patch(func(keys []v1alpha1.PublisherKey) []v1alpha1.PublisherKey {
				return append(without(keys, k.ID), x.others[i])
			})
		}
		if i < 2 {
			steps["another publisher has "+named[i]] = func() error { return x.create(bare(k)) }
		}
		if i == 3 {
			steps["another publisher has another one of the id of "+named[i]] = func() error { return x.create(x.others[i]) }
			continue
		}
		steps[named[i]+" has its id and hash alone"] = func() error {
			return x.patch(func(keys []v1alpha1.PublisherKey) []v1alpha1.PublisherKey {
				return append(without(keys, k.ID), bare(k))
			})
		}
	}
	for first, one := range steps {
		x.reset()
		if one() != nil {
			continue // Nothing was written: what follows is a first step.
		}
		x.expectAsBefore(first)
		for second, two := range steps {
			if two() != nil {
				continue
			}
			x.expectAsBefore(first + ", then " + second)
			x.reset()
			must.Succeed(t, one())
		}
	}
}

// expectAsBefore fails if a key works that must not, or the publisher's keys are
// not what they were, and says after what.
func (x *theft) expectAsBefore(steps string) {
	x.t.Helper()
	if open := x.open(x.refused); len(open) > 0 {
		x.t.Errorf("%s: %d keys work that must not", steps, len(open))
	}
	keys := x.publisherObject(x.name).Spec.Keys
	for _, k := range x.have {
		if !slices.ContainsFunc(keys, func(now v1alpha1.PublisherKey) bool {
			return now.ID == k.ID && now.Hash == k.Hash && now.ExpiresAt.Equal(k.ExpiresAt) && now.RevokedAt.Equal(k.RevokedAt)
		}) {
			x.t.Errorf("%s: a key is not what it was", steps)
		}
	}
}

// TestNoWriteOfTheIngressHasAManifestBringAKeyBack is of a publisher in a
// repository of manifests: who applies it removes what the API server says that
// they hold. The ingress must not have it say so of the time of a withdrawal.
func TestNoWriteOfTheIngressHasAManifestBringAKeyBack(t *testing.T) {
	x := newTheft(t)
	ctx := t.Context()
	key, entry := mintFrom(t, "m", "1")
	apply := func(by client.Client, manager string, revoked bool, options ...client.PatchOption) error {
		k := map[string]any{"id": entry.ID, "hash": entry.Hash}
		if revoked {
			k["revokedAt"] = "2026-01-02T03:04:05Z"
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CatalogPublisher",
			"metadata": map[string]any{"name": "manifest", "namespace": x.namespace}, "spec": map[string]any{"keys": []any{k}},
		}}
		b := must.Value(o.MarshalJSON())(t)
		return by.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, b), append(options, client.FieldOwner(manager))...)
	}
	must.Succeed(t, apply(x.api, "gitops", false))
	o := x.publisherObject("manifest")
	before := o.DeepCopy()
	o.Spec.Keys[0].RevokedAt = new(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	must.Succeed(t, x.ingress.Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwnerAdmin)))
	// swap gives what the catalog holds to the manifest's manager.
	swap := func(o *v1alpha1.CatalogPublisher) {
		for i := range o.ManagedFields {
			m := &o.ManagedFields[i]
			switch m.Manager {
			case v1alpha1.FieldOwnerAdmin:
				m.Manager, m.Operation = "gitops", metav1.ManagedFieldsOperationApply
			case "gitops":
				m.Manager, m.Operation = v1alpha1.FieldOwnerAdmin, metav1.ManagedFieldsOperationUpdate
			}
		}
	}
	steps := map[string]func() error{
		"by an apply in the other's name": func() error {
			return apply(x.ingress, "gitops", true, client.ForceOwnership)
		},
		"by the list of managers": func() error {
			o := x.publisherObject("manifest")
			before := o.DeepCopy()
			swap(o)
			return x.ingress.Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwnerAdmin))
		},
		"by no managers": func() error {
			o := x.publisherObject("manifest")
			before := o.DeepCopy()
			o.ManagedFields = []metav1.ManagedFieldsEntry{{}}
			return x.ingress.Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwnerAdmin))
		},
	}
	for what, step := range steps {
		if err := step(); err == nil || !strings.Contains(err.Error(), "hosted-bridge-ingress-catalog") {
			t.Errorf("%s: %v, want that the policy refuses it", what, err)
		}
		must.Succeed(t, apply(x.api, "gitops", false))
		if len(x.open([]string{key})) > 0 {
			t.Fatalf("%s: the key works again", what)
		}
	}
	// A write of the status does not change who holds the rest.
	o = x.publisherObject("manifest")
	before = o.DeepCopy()
	swap(o)
	o.Status.Keys = []v1alpha1.PublisherKeyStatus{{ID: entry.ID, LastUsedAt: new(metav1.Now())}}
	must.Succeed(t, x.ingress.Status().Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwnerIngress)))
	must.Succeed(t, apply(x.api, "gitops", false))
	if len(x.open([]string{key})) > 0 {
		t.Error("by a write of the status: the key works again")
	}
}
