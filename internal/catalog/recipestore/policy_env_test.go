// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestTheIngressMayDoNoMoreThanTheStoreDoes is of who has taken it over. That it
// may do what the store does all tests of the package show.
func TestTheIngressMayDoNoMoreThanTheStoreDoes(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	f.create(draft("acme", valid("notes")))
	applied := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "applied"}}
	applied.Spec.Recipe = &v1alpha1.Recipe{Recipe: valid("applied")}
	testenv.ExpectApplied(t, f.api, applied)
	must.Values(f.CreatePublisher(ctx, catalog.Publisher{ID: "acme"}, new(time.Now().Add(time.Hour))))(t)
	p, withdrawn, _, err := f.AddPublisherKey(ctx, "acme", nil)
	if err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, f.RevokePublisherKey(ctx, "acme", withdrawn))
	_, working, _, err := f.AddPublisherKey(ctx, "acme", nil)
	if err != nil {
		t.Fatal(err)
	}
	ingress := must.Value(client.New(ingressConfig(), client.Options{Scheme: testenv.Scheme()}))(t)
	key := func(id string, change func(*v1alpha1.PublisherKey)) func() error {
		return func() error {
			o := f.publisherObject("acme")
			before := o.DeepCopy()
			for i := range o.Spec.Keys {
				if o.Spec.Keys[i].ID == id {
					change(&o.Spec.Keys[i])
				}
			}
			return ingress.Patch(ctx, o, client.MergeFrom(before))
		}
	}
	publisher := func(change func(*v1alpha1.CatalogPublisher)) func() error {
		return func() error {
			o := f.publisherObject("acme")
			before := o.DeepCopy()
			change(o)
			return ingress.Patch(ctx, o, client.MergeFrom(before))
		}
	}
	recipe := func(change func(*v1alpha1.CatalogRecipe)) func() error {
		return func() error {
			o := f.object("notes")
			before := o.DeepCopy()
			change(o)
			return ingress.Patch(ctx, o, client.MergeFrom(before))
		}
	}
	other := "sha256:" + strings.Repeat("0", 64)
	acts := map[string]func() error{
		"another hash":              key(working, func(k *v1alpha1.PublisherKey) { k.Hash = other }),
		"a withdrawn key":           key(withdrawn, func(k *v1alpha1.PublisherKey) { k.RevokedAt = nil }),
		"a withdrawal at leisure":   key(withdrawn, func(k *v1alpha1.PublisherKey) { k.RevokedAt = new(metav1.NewTime(time.Now().Add(time.Hour))) }),
		"a longer life":             key(p.Keys[0].ID, func(k *v1alpha1.PublisherKey) { k.ExpiresAt = nil }),
		"a key less":                publisher(func(o *v1alpha1.CatalogPublisher) { o.Spec.Keys = o.Spec.Keys[:2] }),
		"a publisher's label":       publisher(func(o *v1alpha1.CatalogPublisher) { o.Labels = map[string]string{"a": "b"} }),
		"a recipe's annotation":     recipe(func(o *v1alpha1.CatalogRecipe) { o.Annotations = map[string]string{"a": "b"} }),
		"a recipe's finalizer":      recipe(func(o *v1alpha1.CatalogRecipe) { o.Finalizers = []string{"a/b"} }),
		"a recipe without an owner": recipe(func(o *v1alpha1.CatalogRecipe) { o.Spec.Owner = "" }),
		"one without, changed": func() error {
			o := f.object("applied")
			before := o.DeepCopy()
			o.Spec.Recipe.Description = "Another program"
			return ingress.Patch(ctx, o, client.MergeFrom(before))
		},
		"one without, emptied": func() error {
			o := f.object("applied")
			before := o.DeepCopy()
			o.Spec.Recipe = nil
			return ingress.Patch(ctx, o, client.MergeFrom(before))
		},
		"a new one without": func() error {
			o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "mine"}}
			o.Spec.Recipe = &v1alpha1.Recipe{Recipe: valid("mine")}
			return ingress.Create(ctx, o)
		},
		"the seeder as a publisher": func() error {
			return ingress.Create(ctx, &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: catalog.SeedOwner}})
		},
	}
	// The API server takes a policy up some time after it was made.
	wait.Until(t, "the policy holds", func() bool { return acts["a recipe's annotation"]() != nil })
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			if err := act(); err == nil || !strings.Contains(err.Error(), "hosted-bridge-ingress-catalog") {
				t.Errorf("got %v, want that the policy refuses it", err)
			}
		})
	}

	o := f.object("notes")
	o.Status.ObservedGeneration = 7
	for name, act := range map[string]func() error{
		"a verdict":   func() error { return ingress.Status().Update(ctx, o) },
		"a deletion":  func() error { return ingress.Delete(ctx, f.publisherObject("acme")) },
		"a namespace": func() error { return ingress.List(ctx, &v1alpha1.CatalogRecipeList{}, client.InNamespace("default")) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := act(); !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "policy") {
				t.Errorf("got %v, want that there is no right to it", err)
			}
		})
	}
}
