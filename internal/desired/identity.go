// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
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
