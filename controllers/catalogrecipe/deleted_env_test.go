// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package catalogrecipe_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestADeletedRecipeIsGoneOnWith deletes a recipe as its publisher does, and
// publishes what a change of it could not be.
func TestADeletedRecipeIsGoneOnWith(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	expect(t, c, o, v1alpha1.ReasonRecipeValid)
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe, s.Deleted = nil, new(metav1.Now()) })
	if e := expect(t, c, o, v1alpha1.ReasonRecipeMissing); e.Accepted || len(e.Versions) != 1 {
		t.Errorf("%+v", e)
	}
	other := valid("notes")
	other.Description = "Another program"
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe, s.Deleted = &v1alpha1.Recipe{Recipe: other}, nil })
	expect(t, c, o, v1alpha1.ReasonRecipeVersion)
	other.RecipeVersion = "1.1.0"
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe = &v1alpha1.Recipe{Recipe: other} })
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); !e.Accepted || len(e.Versions) != 2 {
		t.Errorf("%+v", e)
	}
}

func TestTheEndOfADeprecationHasATime(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	expect(t, c, o, v1alpha1.ReasonRecipeValid)
	if meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeDeprecated) != nil {
		t.Errorf("one that never was: %+v", o.Status.Conditions)
	}
	for _, d := range []*v1alpha1.RecipeDeprecation{{Since: metav1.NewTime(start)}, nil} {
		write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Deprecated = d })
		expect(t, c, o, v1alpha1.ReasonRecipeValid)
		said := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeDeprecated)
		if said == nil || (said.Status == metav1.ConditionTrue) != (d != nil) || said.LastTransitionTime.IsZero() {
			t.Errorf("%+v", said)
		}
	}
}
