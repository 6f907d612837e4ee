// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestASecretsValueChangesNoPod holds what the keybroker reports of a value
// against the objects: a pod that is rolled for it would take servers down
// which do not use it.
func TestASecretsValueChangesNoPod(t *testing.T) {
	b, p := load(t, "testdata/full.in.yaml")
	before := render(t, b, p)
	for name, change := range map[string]func(*v1alpha1.HostedBridgeStatus){
		"another revision":    func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Revision = "fedcba9876543210" },
		"another key version": func(s *v1alpha1.HostedBridgeStatus) { s.KeyVersion = ptr.To[int32](3) },
		"another count":       func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Count++ },
		"one that is missing": func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Missing = []string{"TWO_TOKEN"} },
		"no report":           func(s *v1alpha1.HostedBridgeStatus) { s.Secrets, s.KeyVersion = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			changed := b.DeepCopy()
			change(&changed.Status)
			if diff := cmp.Diff(string(before), string(render(t, changed, p))); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTheOrderOfGrantsChangesNoPod(t *testing.T) {
	b, p := load(t, "testdata/full.in.yaml")
	before := render(t, b, p)
	granted := b.Spec.Servers[1].Secrets
	granted[0], granted[2] = granted[2], granted[0]
	if diff := cmp.Diff(string(before), string(render(t, b, p))); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	if granted[0] != "client.json" {
		t.Errorf("the spec itself was sorted: %v", granted)
	}
}

// TestNoObjectHoldsOrMountsASecret looks at every way by which Kubernetes
// would bring a Secret's value into a pod.
func TestNoObjectHoldsOrMountsASecret(t *testing.T) {
	inputs := must.Value(filepath.Glob("testdata/*.in.yaml"))(t)
	pods := 0
	for _, input := range inputs {
		b, p := load(t, input)
		objects := must.Value(Objects(effective.Of(b), p, settings))(t)
		for _, object := range objects {
			switch o := object.(type) {
			case *corev1ac.ServiceAccountApplyConfiguration:
				if len(o.Secrets) > 0 || len(o.ImagePullSecrets) > 0 {
					t.Errorf("%s: the ServiceAccount names Secrets", input)
				}
			case *corev1ac.ConfigMapApplyConfiguration:
				// Its text comes from a spec, in which secrets have names alone.
			case *corev1ac.PersistentVolumeClaimApplyConfiguration:
				// It begins empty; what the program writes is the program's own.
				if o.Spec.DataSource != nil || o.Spec.DataSourceRef != nil || o.Spec.VolumeName != nil {
					t.Errorf("%s: the claim has another volume's content", input)
				}
			case *appsv1ac.DeploymentApplyConfiguration:
				pods++
				for _, finding := range secretsIn(o.Spec.Template.Spec) {
					t.Errorf("%s: %s", input, finding)
				}
			default:
				t.Errorf("%s: there is a %T", input, o)
			}
		}
	}
	if pods < 3 {
		t.Errorf("looked at %d pods", pods)
	}
}

func secretsIn(pod *corev1ac.PodSpecApplyConfiguration) []string {
	var found []string
	if len(pod.ImagePullSecrets) > 0 {
		found = append(found, "the pod names Secrets for its image")
	}
	for _, v := range pod.Volumes {
		if v.Projected == nil && v.EmptyDir == nil && v.PersistentVolumeClaim == nil {
			found = append(found, "a volume that is neither projected, a claim nor empty")
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken == nil && source.ConfigMap == nil {
				found = append(found, "a volume with what is neither a token nor a ConfigMap")
			}
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if len(c.EnvFrom) > 0 {
			found = append(found, "an environment from elsewhere")
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil {
				found = append(found, "a variable from elsewhere: "+*e.Name)
			}
		}
	}
	return found
}

func TestSecretsInFindsEachWay(t *testing.T) {
	for name, pod := range map[string]*corev1ac.PodSpecApplyConfiguration{
		"an image": corev1ac.PodSpec().WithImagePullSecrets(corev1ac.LocalObjectReference().WithName("s")),
		"a volume": corev1ac.PodSpec().WithVolumes(corev1ac.Volume().WithSecret(corev1ac.SecretVolumeSource().WithSecretName("s"))),
		"a projection": corev1ac.PodSpec().WithVolumes(corev1ac.Volume().WithProjected(
			corev1ac.ProjectedVolumeSource().WithSources(corev1ac.VolumeProjection().WithSecret(corev1ac.SecretProjection().WithName("s"))))),
		"an environment of a server": corev1ac.PodSpec().WithInitContainers(corev1ac.Container().WithEnvFrom(
			corev1ac.EnvFromSource().WithSecretRef(corev1ac.SecretEnvSource().WithName("s")))),
		"an environment": corev1ac.PodSpec().WithContainers(corev1ac.Container().WithEnvFrom(
			corev1ac.EnvFromSource().WithSecretRef(corev1ac.SecretEnvSource().WithName("s")))),
		"a variable": corev1ac.PodSpec().WithContainers(corev1ac.Container().WithEnv(corev1ac.EnvVar().WithName("V").WithValueFrom(
			corev1ac.EnvVarSource().WithSecretKeyRef(corev1ac.SecretKeySelector().WithName("s").WithKey("k"))))),
	} {
		if len(secretsIn(pod)) != 1 {
			t.Errorf("%s: found %v", name, secretsIn(pod))
		}
	}
}
