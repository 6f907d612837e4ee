// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

var (
	// defaultRequests are what an idle bridge uses, with some room: it is what
	// decides how many of them fit on a node.
	defaultRequests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("32Mi"),
	}
	// defaultLimits hold one user off the others' memory. CPU has no limit: the
	// requests already share it out where it is short.
	defaultLimits = corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("128Mi"),
	}
)

// withDefaults returns a container's resources: what the spec asks for, and the
// defaults for what it does not mention. A default gives way where it would
// leave a request above its limit.
func withDefaults(asked *corev1.ResourceRequirements, requests, limits corev1.ResourceList) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests, limits = maps.Clone(requests), maps.Clone(limits)
	if asked != nil {
		maps.Copy(requests, asked.Requests)
		maps.Copy(limits, asked.Limits)
	}
	for name, limit := range limits {
		request, ok := requests[name]
		if !ok || request.Cmp(limit) <= 0 {
			continue
		}
		if !mentions(asked.Limits, name) {
			limits[name] = request
		} else if !mentions(asked.Requests, name) {
			requests[name] = limit
		}
	}
	return corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)
}

func mentions(list corev1.ResourceList, name corev1.ResourceName) bool {
	_, ok := list[name]
	return ok
}
