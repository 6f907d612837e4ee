// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestABridgeIsReadyThoughAServersContainerIsNot(t *testing.T) {
	condition := func(status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, Reason: reason}}
	}
	up := []corev1.ContainerStatus{{Name: "stdio-memory"}, {Name: BridgeContainer, Ready: true}}
	down := []corev1.ContainerStatus{{Name: "stdio-memory", Ready: true}, {Name: BridgeContainer}}
	tests := []struct {
		name       string
		conditions []corev1.PodCondition
		containers []corev1.ContainerStatus
		want       bool
	}{
		{"all containers are ready", condition(corev1.ConditionTrue, ""), up, true},
		{"a server's container is down", condition(corev1.ConditionFalse, "ContainersNotReady"), up, true},
		{"the bridge's container is down", condition(corev1.ConditionFalse, "ContainersNotReady"), down, false},
		{"the pod has ended", condition(corev1.ConditionFalse, "PodFailed"), up, false},
		{"nothing is known of the containers", condition(corev1.ConditionFalse, "ContainersNotReady"), nil, false},
		{"nothing is known of the pod", nil, up, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: tt.conditions, ContainerStatuses: tt.containers}}
			if got := BridgeReady(pod); got != tt.want {
				t.Errorf("BridgeReady = %t, want %t", got, tt.want)
			}
		})
	}
}
