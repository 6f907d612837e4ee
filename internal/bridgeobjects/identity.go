// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// serviceAccount is the identity by which the keybroker recognizes the bridge's
// pod. It has no rights in the cluster, and Kubernetes mounts no token of it by
// default.
func serviceAccount(b *effective.Bridge) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(v1alpha1.WorkloadName(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithAutomountServiceAccountToken(false)
}
