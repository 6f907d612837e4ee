// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoteKstatus sets the condition of a kind, Stalled or Reconciling, with the reason, message,
// generation and time of the condition that it is derived from. It removes the other kind, and
// both if the kind is empty, which means that nothing is wrong. By them tools that wait for
// objects, such as Flux, tell an object that failed from one that is not ready yet: without
// them each object whose Ready is False counts as in progress, and one without Ready as current.
func NoteKstatus(conditions *[]metav1.Condition, kind string, from *metav1.Condition) {
	var c metav1.Condition
	if kind != "" {
		c = *from // A copy: removing a condition moves others.
		c.Type, c.Status = kind, metav1.ConditionTrue
	}
	for _, other := range []string{ConditionStalled, ConditionReconciling} {
		if other != kind {
			meta.RemoveStatusCondition(conditions, other)
		}
	}
	if kind != "" {
		meta.SetStatusCondition(conditions, c)
	}
}
