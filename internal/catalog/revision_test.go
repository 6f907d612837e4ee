// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

// TestWhatARevisionIsOf changes one thing at a time of an object that is served.
func TestWhatARevisionIsOf(t *testing.T) {
	made := func() *v1alpha1.CatalogRecipe {
		o := catalogtest.Object(catalogtest.Recipe("notes"))
		o.UID, o.Generation, o.CreationTimestamp = "first", 3, metav1.NewTime(catalogtest.Start)
		judged(o, 1)
		return o
	}
	tests := map[string]struct {
		change           func(*v1alpha1.CatalogRecipe)
		matches, showing bool
	}{
		"nothing":                     {func(*v1alpha1.CatalogRecipe) {}, true, true},
		"what is of no recipe":        {func(o *v1alpha1.CatalogRecipe) { o.ResourceVersion, o.Labels = "9", map[string]string{"a": "b"} }, true, true},
		"a look that changed nothing": {func(o *v1alpha1.CatalogRecipe) { o.Status.ObservedGeneration = 9 }, true, true},
		"a write":                     {func(o *v1alpha1.CatalogRecipe) { o.Generation++ }, false, false},
		"a later object of the name":  {func(o *v1alpha1.CatalogRecipe) { o.UID = "second" }, false, false},
		"the time of its making": {func(o *v1alpha1.CatalogRecipe) {
			o.CreationTimestamp = metav1.NewTime(catalogtest.Start.Add(time.Hour))
		}, true, false},
		"the time it was accepted": {func(o *v1alpha1.CatalogRecipe) {
			o.Status.Versions[0].AcceptedAt = metav1.NewTime(catalogtest.Start.Add(time.Hour))
		}, true, false},
		"a version before it": {func(o *v1alpha1.CatalogRecipe) {
			o.Status.Versions = append(o.Status.Versions, v1alpha1.RecipeVersion{Version: "0.9.0", Digest: "d", Recipe: o.Status.Versions[0].Recipe})
		}, true, false},
		"a version withdrawn": {func(o *v1alpha1.CatalogRecipe) { o.Status.Versions[0].Withdrawn = true }, true, false},
		"a verdict":           {func(o *v1alpha1.CatalogRecipe) { o.Status.Conditions, o.Status.Versions = nil, nil }, true, false},
		"the end of a deprecation": {func(o *v1alpha1.CatalogRecipe) {
			o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionRecipeDeprecated, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(catalogtest.Start.Add(time.Hour)),
			})
		}, true, false},
	}
	before := catalogtest.EntryOf(t, made()).Revision
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := made()
			tt.change(o)
			e := catalogtest.EntryOf(t, o)
			if e.Matches(before) != tt.matches || e.Shows(before) != tt.showing || (e.Revision == before) != tt.showing {
				t.Errorf("%s, before %s", e.Revision, before)
			}
			if !e.Matches(catalog.AnyRevision) || !e.Shows(catalog.AnyRevision) || e.Matches("") || e.Shows("") || e.Matches("x") {
				t.Error("what names no revision")
			}
		})
	}
}

func TestWhenARecipeChangedLast(t *testing.T) {
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(catalogtest.Start.Add(time.Duration(minutes) * time.Minute))
	}
	tests := map[string]struct {
		change func(*v1alpha1.CatalogRecipe)
		want   int
	}{
		"accepted":                   {func(*v1alpha1.CatalogRecipe) {}, 5},
		"deprecated after":           {func(o *v1alpha1.CatalogRecipe) { o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: at(7)} }, 7},
		"deprecated before":          {func(o *v1alpha1.CatalogRecipe) { o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: at(2)} }, 5},
		"deprecated no more":         {func(o *v1alpha1.CatalogRecipe) { ended(o, at(9)) }, 9},
		"deprecated no more, before": {func(o *v1alpha1.CatalogRecipe) { ended(o, at(3)) }, 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := catalogtest.Object(catalogtest.Recipe("notes"))
			judged(o, 5)
			tt.change(o)
			if e := catalogtest.EntryOf(t, o); !e.Changed().Equal(at(tt.want).Time) || !e.Updated.Equal(at(5).Time) {
				t.Errorf("changed at %s, updated at %s", e.Changed(), e.Updated)
			}
		})
	}
}

// ended writes that a deprecation ended.
func ended(o *v1alpha1.CatalogRecipe, at metav1.Time) {
	o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRecipeDeprecated, Status: metav1.ConditionFalse, LastTransitionTime: at,
	})
}

func TestADeletedRecipeIsNotServed(t *testing.T) {
	o := catalogtest.Object(catalogtest.Recipe("notes"))
	o.Spec.Owner = "acme"
	judged(o, 1)
	o.Spec.Recipe, o.Spec.Deleted = nil, new(metav1.NewTime(catalogtest.Start))
	judged(o, 2)
	e := catalogtest.EntryOf(t, o)
	if e.Accepted || e.Deleted == nil || e.Owner != "acme" || len(e.Versions) != 1 || e.Vacant() {
		t.Errorf("%+v", e)
	}
	if _, there := search.NewSnapshot([]catalog.Entry{e}, nil).Get("notes"); there {
		t.Error("it is served")
	}

	other := catalogtest.Recipe("notes")
	other.Description = "Another program"
	o.Spec.Recipe, o.Spec.Deleted = &v1alpha1.Recipe{Recipe: other}, nil
	if v := judged(o, 3); v.Accepted || v.Reason != v1alpha1.ReasonRecipeVersion {
		t.Errorf("what was there before it was deleted is forgotten: %+v", v)
	}
}

// judged lets the catalog look at an object, minutes after the start, and writes
// what it says into its status.
func judged(o *v1alpha1.CatalogRecipe, minutes int) validate.Verdict {
	v := validate.Accept(o, nil, catalogtest.Start.Add(time.Duration(minutes)*time.Minute))
	c := metav1.Condition{Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionFalse, Reason: v.Reason, Message: v.Message, ObservedGeneration: o.Generation}
	if v.Accepted {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&o.Status.Conditions, c)
	o.Status.Versions = v.Versions
	return v
}
