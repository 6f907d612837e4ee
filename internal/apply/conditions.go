// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Conditions returns the apply configurations of conditions, in their order.
func Conditions(of []metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	all := make([]*metav1ac.ConditionApplyConfiguration, 0, len(of))
	for _, c := range of {
		all = append(all, metav1ac.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).
			WithMessage(c.Message).WithObservedGeneration(c.ObservedGeneration).WithLastTransitionTime(c.LastTransitionTime))
	}
	return all
}
