// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
)

func TestADeprecationsChangesHaveATime(t *testing.T) {
	o := catalogtest.Object(catalogtest.Recipe("notes"))
	var conditions []metav1.Condition
	at := catalogtest.Start
	note := func() {
		at = at.Add(time.Minute)
		o.Generation++
		catalog.NoteDeprecation(&conditions, o, at)
	}
	expect := func(status metav1.ConditionStatus, since time.Time) {
		t.Helper()
		if len(conditions) != 1 {
			t.Fatalf("conditions: %+v", conditions)
		}
		c := conditions[0]
		if c.Type != v1alpha1.ConditionRecipeDeprecated || c.Status != status || !c.LastTransitionTime.Equal(new(metav1.NewTime(since))) || c.ObservedGeneration != o.Generation {
			t.Errorf("%+v", c)
		}
	}
	if note(); len(conditions) != 0 {
		t.Errorf("one that never was: %+v", conditions)
	}
	o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: metav1.NewTime(catalogtest.Start)}
	note()
	said := at
	expect(metav1.ConditionTrue, said)
	note()
	expect(metav1.ConditionTrue, said)
	o.Spec.Deprecated = nil
	note()
	expect(metav1.ConditionFalse, at)
}
