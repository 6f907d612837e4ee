// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// serviceAccount is by whom the keybroker knows the bridge's pod. It may do
// nothing in the cluster, and no token of it is mounted by itself.
func serviceAccount(b *v1alpha1.HostedBridge) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(Workload(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithAutomountServiceAccountToken(false)
}

// envelopes is where the keybroker keeps the user's sealed secrets. Its data
// is not named here: it belongs to the keybroker, and what an apply does not
// name it does not touch.
func envelopes(b *v1alpha1.HostedBridge) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(Envelopes(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithType(corev1.SecretTypeOpaque)
}
