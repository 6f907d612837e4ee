// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"fmt"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// configKey is the ConfigMap's key, and so the file's name in bridgeFolder.
const configKey = "config.json"

// configMap has the bridge's configuration. It names secrets and contains none.
// The pod mounts it as a file, which the kubelet keeps up to date: a change
// that a running bridge can adopt does not change the pod.
func configMap(b *effective.Bridge, s Settings) (*corev1ac.ConfigMapApplyConfiguration, error) {
	encoded, err := s.configuration(b).Encode()
	if err != nil {
		return nil, fmt.Errorf("build ConfigMap %s: %w", v1alpha1.WorkloadName(b.Name), err)
	}
	return corev1ac.ConfigMap(v1alpha1.WorkloadName(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithData(map[string]string{configKey: string(encoded)}), nil
}

// configuration is what the bridge is told.
func (s Settings) configuration(b *effective.Bridge) bridgeconfig.Config {
	return s.Bundles.Start(bridgestate.InService(bridgestate.Configuration(b, s.Egress, s.LoginURL), b, s.Lacking()), b)
}

// Digest identifies the configuration that Objects builds for b.
func Digest(b *effective.Bridge, s Settings) (string, error) {
	return s.configuration(b).Digest()
}

// DigestIn returns the digest of the configuration in a ConfigMap that Objects has built.
func DigestIn(m *corev1ac.ConfigMapApplyConfiguration) string {
	return bridgeconfig.DigestOf(m.Data[configKey])
}

// Told returns the change that makes the node of a pod fetch the configuration
// with that digest now, and not up to a minute and a half later: a kubelet
// updates all volumes of a pod when the pod changes, and an annotation restarts
// nothing.
func Told(b *effective.Bridge, pod bridgestate.Pod, digest string) *corev1ac.PodApplyConfiguration {
	return corev1ac.Pod(pod.Name, b.Namespace).
		WithUID(pod.UID). // A deleted pod is not created again.
		WithAnnotations(map[string]string{v1alpha1.AnnotationConfigDigest: digest})
}
