// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// OfTenant gives the metadata of a tenant's pod what the operator's Deployment and
// the ReplicaSet controller give it, without which the keybroker believes none.
func OfTenant(pod metav1.ObjectMeta) metav1.ObjectMeta {
	pod.Labels = v1alpha1.BridgePodLabels()
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pod.Name, UID: "replica-set", Controller: new(true)}}
	return pod
}
