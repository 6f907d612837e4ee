// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// NoteDeprecation sets the condition that says whether an object is deprecated,
// and since when. A recipe that was never deprecated gets no condition.
func NoteDeprecation(conditions *[]metav1.Condition, o *v1alpha1.CatalogRecipe, now time.Time) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionRecipeDeprecated, ObservedGeneration: o.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	switch {
	case o.Spec.Deprecated != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonDeprecationSaid, "spec.deprecated is there"
	case meta.FindStatusCondition(*conditions, c.Type) != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonDeprecationTakenBack, "the recipe is not deprecated anymore"
	default:
		return
	}
	meta.SetStatusCondition(conditions, c)
}
