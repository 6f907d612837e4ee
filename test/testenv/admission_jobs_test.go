// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestTheOperatorMakesNoJobsButThoseThatInstallPackages tries what else whoever takes the operator
// over could have a Job do.
func TestTheOperatorMakesNoJobsButThoseThatInstallPackages(t *testing.T) {
	f := newOperatorPolicies(t)
	b := &v1alpha1.ProgramBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "server-1-2-3", UID: "0123456789"},
		Spec: v1alpha1.ProgramBundleSpec{
			Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.2.3"}, Architecture: "amd64",
		},
	}
	s := bridgeobjects.Installing{
		Image: "node:1", PackerImage: "ingress:1", MaxBytes: 1 << 30, Env: []string{"A=b"}, Authorities: "PEM",
		Repository: "registry.example.com/bundles", RegistryAuthorities: "PEM",
	}
	create := func(change func(*batchv1.Job)) error {
		j := bridgeobjects.InstallJob(b, s)
		change(j)
		return f.as(operator).Create(t.Context(), j, client.DryRunAll)
	}
	registry := bridgeobjects.FindJob(b, s)
	const (
		jobs   = "creates Jobs that install packages, in its own namespace"
		labels = "the labels by which the network knows it"
		token  = "the ServiceAccount that has no rights"
		volume = "the volume into which it installs, and nothing else"
		packs  = "runs ingress bundle"
		plain  = "is restricted"
	)
	master := corev1.LocalObjectReference{Name: "hosted-bridge-master"}
	pod := func(change func(*corev1.PodSpec)) func(*batchv1.Job) {
		return func(j *batchv1.Job) { change(&j.Spec.Template.Spec) }
	}
	wait.Until(t, "the policy of Jobs holds", func() bool {
		err := create(func(j *batchv1.Job) { j.OwnerReferences = nil })
		return err != nil && strings.Contains(err.Error(), jobs)
	})
	for name, tt := range map[string]struct {
		change  func(*batchv1.Job)
		message string
	}{
		"an install":             {func(*batchv1.Job) {}, ""},
		"a search in a registry": {func(j *batchv1.Job) { *j = *registry.DeepCopy() }, ""},
		"an upload to a registry": {func(j *batchv1.Job) {
			made := b.DeepCopy()
			made.Status.Digest = "sha256:" + strings.Repeat("ab", 32)
			*j = *bridgeobjects.PushJob(made, s)
		}, ""},
		"a search with another Secret": {func(j *batchv1.Job) {
			*j = *registry.DeepCopy()
			j.Spec.Template.Spec.Volumes[2].Secret.SecretName = "hosted-bridge-master"
		}, token},
		"an install beside the registry's credentials": {pod(func(s *corev1.PodSpec) {
			s.Volumes = append(s.Volumes, registry.Spec.Template.Spec.Volumes[2])
		}), token},
		"a search with another variable": {func(j *batchv1.Job) {
			*j = *registry.DeepCopy()
			j.Spec.Template.Spec.Containers[0].Env[1].Name = "HTTPS_PROXY"
		}, packs},
		"an install of Python": {func(j *batchv1.Job) {
			python := b.DeepCopy()
			python.Spec.Method = v1alpha1.InstallUVX
			*j = *bridgeobjects.InstallJob(python, bridgeobjects.Installing{PythonImage: "python:1", PackerImage: "ingress:1", MaxBytes: 1 << 30})
		}, ""},
		"in another namespace": {func(j *batchv1.Job) { j.Namespace = f.namespace }, jobs},
		"of another owner":     {func(j *batchv1.Job) { j.OwnerReferences[0].Kind = "HostedBridge" }, jobs},
		"the keybroker's pod for the network": {func(j *batchv1.Job) {
			j.Spec.Template.Labels["app.kubernetes.io/component"] = "keybroker"
		}, labels},
		"a further label":              {func(j *batchv1.Job) { j.Spec.Template.Labels["team"] = "a" }, labels},
		"the keybroker's account":      {pod(func(s *corev1.PodSpec) { s.ServiceAccountName = "hosted-bridge-keybroker" }), token},
		"a token for the API server":   {pod(func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(true) }), token},
		"a token for another audience": {pod(func(s *corev1.PodSpec) { s.Volumes[1].Projected.Sources[0].ServiceAccountToken.Audience = "vault" }), token},
		"the master key": {pod(func(s *corev1.PodSpec) {
			s.Volumes[0].VolumeSource = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "hosted-bridge-master"}}
		}), token},
		"a folder of the node": {pod(func(s *corev1.PodSpec) {
			s.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}), token},
		"npm with the token": {pod(func(s *corev1.PodSpec) { s.InitContainers[0].VolumeMounts[0].Name = s.Volumes[1].Name }), volume},
		"npm with a Secret": {pod(func(s *corev1.PodSpec) {
			s.InitContainers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: master}}}
		}), volume},
		"a second init container": {pod(func(s *corev1.PodSpec) {
			s.InitContainers = append(s.InitContainers, *s.InitContainers[0].DeepCopy())
			s.InitContainers[1].Name = "more"
		}), volume},
		"another program": {pod(func(s *corev1.PodSpec) { s.Containers[0].Command = []string{"/bin/sh"} }), packs},
		"the ingress":     {pod(func(s *corev1.PodSpec) { s.Containers[0].Args = []string{"store"} }), packs},
		"the packer with a Secret": {pod(func(s *corev1.PodSpec) {
			s.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: master, Key: "key"}}
		}), packs},
		"the node's network": {pod(func(s *corev1.PodSpec) { s.HostNetwork = true }), plain},
		"root":               {pod(func(s *corev1.PodSpec) { s.InitContainers[0].SecurityContext.RunAsUser = new(int64(0)) }), plain},
		"a privileged container": {pod(func(s *corev1.PodSpec) {
			s.InitContainers[0].SecurityContext.Privileged, s.InitContainers[0].SecurityContext.AllowPrivilegeEscalation = new(true), new(true)
		}), plain},
	} {
		t.Run(name, func(t *testing.T) { expectPolicy(t, create(tt.change), tt.message) })
	}
}
