// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// BridgeContainer is the name of the bridge's container in its pod.
const BridgeContainer = "bridge"

// BridgePodLabels are the labels that every bridge pod of an installation has, and
// no other pod.
func BridgePodLabels() map[string]string {
	return map[string]string{LabelName: NameValue, LabelComponent: ComponentBridge}
}

// containersNotReady is the kubelet's reason for a pod of which not all
// containers are ready.
const containersNotReady = "ContainersNotReady"

// BridgeReady reports whether the bridge in the pod answers. Kubernetes calls a
// pod ready when all of its containers are; that of a server over stdio may be
// down while the bridge serves the user's other servers. For any other cause,
// such as a node that is gone, the pod's word counts.
func BridgeReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue || c.Reason == containersNotReady && bridgeContainerReady(pod)
		}
	}
	return false
}

func bridgeContainerReady(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == BridgeContainer {
			return s.Ready
		}
	}
	return false
}
