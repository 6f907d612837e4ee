// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	tests := map[string]struct {
		asked            *corev1.ResourceRequirements
		requests, limits corev1.ResourceList
	}{
		"nothing asked for": {nil, list("10m", "32Mi"), list("", "128Mi")},
		"one resource asked for leaves the others' defaults": {
			&corev1.ResourceRequirements{Requests: list("100m", "")}, list("100m", "32Mi"), list("", "128Mi")},
		"a limit that has no default": {
			&corev1.ResourceRequirements{Limits: list("1", "")}, list("10m", "32Mi"), list("1", "128Mi")},
		"a request above the default limit raises it": {
			&corev1.ResourceRequirements{Requests: list("", "256Mi")}, list("10m", "256Mi"), list("", "256Mi")},
		"a limit below the default request lowers it": {
			&corev1.ResourceRequirements{Limits: list("5m", "16Mi")}, list("5m", "16Mi"), list("5m", "16Mi")},
		"a contradiction of the spec's own is left for the API server to refuse": {
			&corev1.ResourceRequirements{Requests: list("", "64Mi"), Limits: list("", "16Mi")}, list("10m", "64Mi"), list("", "16Mi")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := withDefaults(tt.asked, defaultRequests, defaultLimits)
			if diff := cmp.Diff(tt.requests, *got.Requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.limits, *got.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(list("10m", "32Mi"), defaultRequests); diff != "" {
		t.Errorf("the defaults were changed (-want +got):\n%s", diff)
	}
}
