// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"hash/fnv"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

const (
	// configKey is the ConfigMap's key, and so the file's name in configFolder.
	configKey        = "config.json"
	configVolumeName = "config"
	configFolder     = "/etc/hosted-bridge"
)

// configMap is what the bridge is told. It names secrets and holds none. The
// pod mounts it as a folder, in which the kubelet brings it up to date: what a
// running bridge can take changes no pod.
func configMap(b *v1alpha1.HostedBridge, s Settings) (*corev1ac.ConfigMapApplyConfiguration, error) {
	encoded, err := plan.Configuration(b, s.Egress, s.LoginURL).Encode()
	if err != nil {
		return nil, fmt.Errorf("build ConfigMap %s: %w", Workload(b.Name), err)
	}
	return corev1ac.ConfigMap(Workload(b.Name), b.Namespace).
		WithLabels(labels(b)).
		WithOwnerReferences(owner(b)).
		WithData(map[string]string{configKey: string(encoded)}), nil
}

func configVolume(b *v1alpha1.HostedBridge) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(configVolumeName).WithConfigMap(
		corev1ac.ConfigMapVolumeSource().WithName(Workload(b.Name)))
}

// Digest tells the configuration that Objects makes for b from others. It need
// not resist an attacker: of two configurations with one digest the second
// reaches a running pod a minute later.
func Digest(b *v1alpha1.HostedBridge, s Settings) (string, error) {
	encoded, err := plan.Configuration(b, s.Egress, s.LoginURL).Encode()
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	_, _ = h.Write(encoded)
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// Told returns what makes the node of a pod fetch the configuration with that
// digest now, and not at its next look, which is up to a minute and a half
// away: a kubelet brings all volumes of a pod up to date when the pod changes,
// and an annotation is the change that restarts nothing.
func Told(b *v1alpha1.HostedBridge, pod plan.Pod, digest string) *corev1ac.PodApplyConfiguration {
	return corev1ac.Pod(pod.Name, b.Namespace).
		WithUID(pod.UID). // A pod that is gone is not made anew.
		WithAnnotations(map[string]string{v1alpha1.AnnotationConfigDigest: digest})
}
