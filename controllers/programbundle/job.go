// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// Component is the value of the component label of the Jobs' pods.
	Component = "bundler"
	// ServiceAccount has no right at the API server.
	ServiceAccount = "hosted-bridge-bundler"

	installContainer = "install"
	packContainer    = "pack"

	// workFolder is the volume in which the package is installed, and which is packed.
	workFolder = "/bundle"
	workVolume = "bundle"

	// packedFolder is the volume for the compressed bundle, before it is uploaded.
	packedFolder = "/packed"
	packedVolume = "packed"

	tokenFolder   = "/var/run/secrets/hosted-bridge"
	tokenVolume   = "token"
	tokenAudience = "hosted-bridge-keybroker"
	tokenSeconds  = 3600
	trustName     = "hosted-bridge-ca"
	trustKey      = "ca.crt"

	// user is the unprivileged user of the project's images.
	user = 65532

	// deadlineSeconds is how long an install may take: the largest known one takes 50 s on
	// a busy machine.
	deadlineSeconds = 900
	// retries are for a node that goes away, or a store that is away. What npm refuses is not
	// tried again by the Job.
	retries = 2
	// keepSeconds is how long a Job is kept that has ended, so that its logs can be read.
	keepSeconds = 3600
)

// script installs the package. It ends with success whatever npm says, so that the packer can
// say what that was. It is for Node.js, since an image need not have more than that and npm.
// Nothing in it comes from outside but by variables.
const script = `const fs = require("node:fs"), { spawnSync } = require("node:child_process");
for (const folder of ["tree", "home"]) fs.mkdirSync(folder, { recursive: true });
const env = { ...process.env };
if (env.AUTHORITIES) {
  env.NODE_EXTRA_CA_CERTS = process.cwd() + "/home/authorities.pem";
  fs.writeFileSync(env.NODE_EXTRA_CA_CERTS, env.AUTHORITIES);
}
const log = fs.openSync("log", "w");
const args = ["install", "--save-exact", "--omit=dev", "--no-audit", "--no-fund", "--engine-strict", env.SCRIPTS, env.PACKAGE];
const { status } = spawnSync("npm", args, { cwd: "tree", env, stdio: ["ignore", log, log] });
process.stdout.write(fs.readFileSync("log"));
fs.writeFileSync("exit-code", String(status ?? 1));
`

// jobName returns the name of the Job of the next attempt. A ProgramBundle that is made again
// has other Jobs than the one before.
func jobName(b *v1alpha1.ProgramBundle) string {
	return fmt.Sprintf("%s-%.5s-%d", b.Name, b.UID, b.Status.Attempts+1)
}

// Job returns the Job of the next attempt. Its init container runs npm and has no credential.
// The packer's container runs nothing of the package, and has a token for the keybroker.
func Job(b *v1alpha1.ProgramBundle, s Settings) *batchv1.Job {
	labels := map[string]string{
		v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: Component, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	}
	controller := metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("ProgramBundle"))
	controller.BlockOwnerDeletion = nil
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(b), Namespace: b.Namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{*controller},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(retries)), ActiveDeadlineSeconds: new(int64(deadlineSeconds)), TTLSecondsAfterFinished: new(int32(keepSeconds)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: ServiceAccount,
					AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
					NodeSelector: map[string]string{corev1.LabelArchStable: b.Spec.Architecture},
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)), FSGroup: new(int64(user)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					InitContainers: []corev1.Container{install(b, s)},
					Containers:     []corev1.Container{pack(b, s)},
					Volumes: []corev1.Volume{
						// Twice the bundle, for npm keeps what it fetched beside what it unpacked.
						{Name: workVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(2*s.MaxBytes, resource.BinarySI)}}},
						{Name: packedVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(s.MaxBytes, resource.BinarySI)}}},
						{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
							ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: tokenAudience, ExpirationSeconds: new(int64(tokenSeconds)), Path: "token"},
						}}}}},
					},
				},
			},
		},
	}
}

func install(b *v1alpha1.ProgramBundle, s Settings) corev1.Container {
	scripts := "--ignore-scripts"
	if b.Spec.InstallScripts {
		scripts = "--no-ignore-scripts"
	}
	c := corev1.Container{
		Name: installContainer, Image: s.Image, WorkingDir: workFolder, Command: []string{"node", "-e", script},
		Env: []corev1.EnvVar{
			{Name: "PACKAGE", Value: b.Spec.Package + "@" + b.Spec.Version}, {Name: "SCRIPTS", Value: scripts},
			{Name: "HOME", Value: workFolder + "/home"}, {Name: "TMPDIR", Value: workFolder + "/home"},
			{Name: "npm_config_update_notifier", Value: "false"}, {Name: "AUTHORITIES", Value: s.Authorities},
		},
		Resources:       resources("100m", "256Mi", "1Gi"),
		SecurityContext: restricted(),
		VolumeMounts:    []corev1.VolumeMount{{Name: workVolume, MountPath: workFolder}},
	}
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: escaped(value)})
	}
	return c
}

// escaped returns a variable's value in which Kubernetes replaces nothing.
func escaped(value string) string { return strings.ReplaceAll(value, "$(", "$$(") }

func pack(b *v1alpha1.ProgramBundle, s Settings) corev1.Container {
	return corev1.Container{
		Name: packContainer, Image: s.PackerImage,
		Args: []string{
			"bundle", "--tree=" + workFolder + "/tree", "--log=" + workFolder + "/log", "--exit-code=" + workFolder + "/exit-code",
			"--method=" + string(b.Spec.Method), "--package=" + b.Spec.Package, "--version=" + b.Spec.Version,
			"--architecture=" + b.Spec.Architecture, "--runtime=" + s.Image, fmt.Sprintf("--max-bytes=%d", s.MaxBytes),
			"--keybroker-url=" + s.KeybrokerURL, "--token-file=" + tokenFolder + "/token", "--store-url=" + s.StoreURL,
			"--temporary-directory=" + packedFolder, "--result=" + corev1.TerminationMessagePathDefault,
		},
		Env: []corev1.EnvVar{{Name: "KEYBROKER_CA", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: trustName}, Key: trustKey,
		}}}},
		Resources:                resources("100m", "64Mi", "256Mi"),
		SecurityContext:          restricted(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: workVolume, MountPath: workFolder, ReadOnly: true},
			{Name: packedVolume, MountPath: packedFolder},
			{Name: tokenVolume, MountPath: tokenFolder, ReadOnly: true},
		},
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func resources(cpu, memory, most string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(most)},
	}
}
