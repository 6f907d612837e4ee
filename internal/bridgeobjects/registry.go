// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// RegistrySecret is the Secret with the credentials of the registry of bundles, of the type
	// kubernetes.io/dockerconfigjson. It is optional.
	RegistrySecret = "hosted-bridge-bundles-registry"

	registryFolder = "/var/run/secrets/hosted-bridge-registry"
	registryVolume = "registry"
	// envRegistryTrust is the variable of the packer with the registry's certificate authorities.
	envRegistryTrust = "REGISTRY_AUTHORITIES"
)

// FindJobName returns the name of the Job that looks for a bundle in the registry.
func FindJobName(b *v1alpha1.ProgramBundle) string { return jobName(b, "f") }

// FindJob returns the Job that looks for a bundle in the registry, under its name. What is there
// takes the place of an install.
func FindJob(b *v1alpha1.ProgramBundle, s Installing) *batchv1.Job {
	return registryJob(b, FindJobName(b), s, "--registry-tag="+b.Name,
		"--method="+string(b.Spec.Method), "--package="+b.Spec.Package, "--version="+b.Spec.Version, "--architecture="+b.Spec.Architecture)
}

// PushJobName returns the name of the Job of the next attempt to upload an installed bundle.
func PushJobName(b *v1alpha1.ProgramBundle) string { return jobName(b, "p") }

// PushJob returns the Job that uploads an installed bundle from the store to the registry. Its
// tag has the digest: under its name alone is what an administrator pushed.
func PushJob(b *v1alpha1.ProgramBundle, s Installing) *batchv1.Job {
	const shown = len("sha256:") + 12
	return registryJob(b, PushJobName(b), s,
		"--registry-tag="+b.Name+"-"+b.Status.Digest[len("sha256:"):shown], "--digest="+b.Status.Digest)
}

func registryJob(b *v1alpha1.ProgramBundle, name string, s Installing, args ...string) *batchv1.Job {
	c := packerContainer(s, append(args, "--registry="+s.Repository, "--registry-credentials="+registryFolder+"/"+corev1.DockerConfigJsonKey)...)
	if s.RegistryAuthorities != "" {
		c.Env = append(c.Env, corev1.EnvVar{Name: envRegistryTrust, Value: escaped(s.RegistryAuthorities)})
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: registryVolume, MountPath: registryFolder, ReadOnly: true})
	job := packerJob(b, name, c, s)
	spec := &job.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: registryVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: RegistrySecret, Optional: new(true), DefaultMode: new(int32(0o440))},
	}})
	return job
}
