// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	_ "embed" // for the script of uv.
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
)

const (
	// BundlerAccount is the ServiceAccount of the Jobs that install packages. It has no right at
	// the API server.
	BundlerAccount = "hosted-bridge-bundler"
	// ComponentBundler is the component of these Jobs and of their pods.
	ComponentBundler = "bundler"
	// PackContainer is the container that says what came of an install.
	PackContainer = "pack"

	installContainer = "install"
	// workFolder is the volume in which the package is installed, and which is packed.
	workFolder = "/bundle"
	workVolume = "bundle"
	// packedFolder is the volume for the compressed bundle, before it is uploaded.
	packedFolder = "/packed"
	packedVolume = "packed"

	packerFolder = "/var/run/secrets/hosted-bridge"
	packerVolume = "token"
	// trustName and trustKey are where the keybroker publishes its certificate.
	trustName = "hosted-bridge-ca"
	trustKey  = "ca.crt"

	// installSeconds is how long an install may take: the largest known one takes 50 s on a busy
	// machine.
	installSeconds = 900
	// installRetries are for a node that goes away, or a store that is away. What npm or uv refuses is
	// not tried again by the Job.
	installRetries = 2
	// endedSeconds is how long a Job is kept that has ended, so that its logs can be read.
	endedSeconds = 3600
)

// Installing is how an installation installs packages.
type Installing struct {
	// Image is the image in which packages of npm are installed and run, PythonImage that of
	// packages of the Python Package Index. An installation may lack one of them.
	Image, PythonImage string
	// PackerImage is the image of the ingress's program, which packs what was installed.
	PackerImage string
	// KeybrokerURL and StoreURL are where it reaches the keybroker and the bundles of the store.
	KeybrokerURL, StoreURL string
	// Env are variables of the install, each NAME=VALUE, and Authorities certificate
	// authorities in PEM that it trusts besides those of Node.js, or of the image.
	Env         []string
	Authorities string
	// MaxBytes is how much a bundle may have, uncompressed.
	MaxBytes int64
	// Repository is where bundles are kept as images, empty for nowhere, and RegistryAuthorities are
	// certificate authorities in PEM that its registry is trusted by besides those of the system.
	Repository, RegistryAuthorities string
}

// imageOf returns the image in which a package is installed and run.
func (s Installing) imageOf(b *v1alpha1.ProgramBundle) string {
	if b.Spec.Method == v1alpha1.InstallUVX {
		return s.PythonImage
	}
	return s.Image
}

// installScript installs a package of npm. It ends with success whatever npm says, so that the packer can
// say what that was. It is for Node.js, since an image need not have more than that and npm.
// Nothing in it comes from outside but by variables.
const installScript = `const fs = require("node:fs"), { spawnSync } = require("node:child_process");
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

// InstallJobName returns the name of the Job of the next attempt. A ProgramBundle that is made again
// has other Jobs than the one before.
func InstallJobName(b *v1alpha1.ProgramBundle) string { return jobName(b, "") }

func jobName(b *v1alpha1.ProgramBundle, kind string) string {
	return fmt.Sprintf("%s-%.5s-%s%d", b.Name, b.UID, kind, b.Status.Attempts+1)
}

// InstallJob returns the Job of the next attempt. Its init container runs npm or uv and has no credential.
// The packer's container runs nothing of the package, and has a token for the keybroker.
func InstallJob(b *v1alpha1.ProgramBundle, s Installing) *batchv1.Job {
	job := packerJob(b, InstallJobName(b), packer(b, s), s)
	spec := &job.Spec.Template.Spec
	spec.NodeSelector = map[string]string{corev1.LabelArchStable: b.Spec.Architecture}
	spec.InitContainers = []corev1.Container{installer(b, s)}
	// Twice the bundle, for npm and uv keep what they fetched beside what they unpacked.
	spec.Volumes = append(spec.Volumes, folder(workVolume, 2*s.MaxBytes))
	return job
}

// packerJob returns a Job that runs the packer.
func packerJob(b *v1alpha1.ProgramBundle, name string, c corev1.Container, s Installing) *batchv1.Job {
	labels := component(ComponentBundler)
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue
	controller := metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("ProgramBundle"))
	controller.BlockOwnerDeletion = nil
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.Namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{*controller}},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(installRetries)), ActiveDeadlineSeconds: new(int64(installSeconds)), TTLSecondsAfterFinished: new(int32(endedSeconds)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: BundlerAccount,
					AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
					SecurityContext: withGroup(restrictedPod()),
					Containers:      []corev1.Container{c},
					Volumes: []corev1.Volume{folder(packedVolume, s.MaxBytes), {
						Name: packerVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
							ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: tokenAudience, ExpirationSeconds: new(int64(tokenSeconds)), Path: tokenFile},
						}}}},
					}},
				},
			},
		},
	}
}

func folder(name string, limit int64) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(limit, resource.BinarySI)}}}
}

func installer(b *v1alpha1.ProgramBundle, s Installing) corev1.Container {
	command, env := npmInstall(b)
	if b.Spec.Method == v1alpha1.InstallUVX {
		command, env = uvInstall(b)
	}
	c := corev1.Container{
		Name: installContainer, Image: s.imageOf(b), WorkingDir: workFolder, Command: command,
		Env: append(env,
			corev1.EnvVar{Name: "HOME", Value: workFolder + "/home"}, corev1.EnvVar{Name: "TMPDIR", Value: workFolder + "/home"},
			corev1.EnvVar{Name: "AUTHORITIES", Value: s.Authorities},
		),
		Resources:       installResources("100m", "256Mi", "1Gi"),
		SecurityContext: restrictedContainer(),
		VolumeMounts:    []corev1.VolumeMount{{Name: workVolume, MountPath: workFolder}},
	}
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: escaped(value)})
	}
	return c
}

func npmInstall(b *v1alpha1.ProgramBundle) (command []string, env []corev1.EnvVar) {
	scripts := "--ignore-scripts"
	if b.Spec.InstallScripts {
		scripts = "--no-ignore-scripts"
	}
	return []string{"node", "-e", installScript}, []corev1.EnvVar{
		{Name: "PACKAGE", Value: b.Spec.Package + "@" + b.Spec.Version}, {Name: "SCRIPTS", Value: scripts},
		{Name: "npm_config_update_notifier", Value: "false"},
	}
}

//go:embed install.py
var uvScript string

// uvInstall has uv install wheels alone, for a package that has none is built by its own code.
func uvInstall(b *v1alpha1.ProgramBundle) (command []string, env []corev1.EnvVar) {
	build := "--no-build"
	if b.Spec.InstallScripts {
		build = "--build"
	}
	return []string{"python3", "-c", uvScript}, []corev1.EnvVar{
		{Name: "PACKAGE", Value: b.Spec.Package + "==" + b.Spec.Version}, {Name: "BUILD", Value: build}, {Name: "LAUNCHER", Value: bundling.Launcher},
		// The packer reads what uv says, which is to be as it is outside a terminal.
		{Name: "UV_NO_WRAP", Value: "1"}, {Name: "NO_COLOR", Value: "1"},
		{Name: "UV_PYTHON_DOWNLOADS", Value: "never"},
	}
}

// escaped returns a variable's value in which Kubernetes replaces nothing.
func escaped(value string) string { return strings.ReplaceAll(value, "$(", "$$(") }

func packer(b *v1alpha1.ProgramBundle, s Installing) corev1.Container {
	c := packerContainer(s,
		"--tree="+workFolder+"/tree", "--log="+workFolder+"/log", "--exit-code="+workFolder+"/exit-code",
		"--method="+string(b.Spec.Method), "--package="+b.Spec.Package, "--version="+b.Spec.Version,
		"--architecture="+b.Spec.Architecture, "--runtime="+s.imageOf(b))
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: workVolume, MountPath: workFolder, ReadOnly: true})
	return c
}

// packerContainer returns the container of the packer, with a place for a compressed bundle.
func packerContainer(s Installing, args ...string) corev1.Container {
	return corev1.Container{
		Name: PackContainer, Image: s.PackerImage,
		Args: append(append([]string{"bundle"}, args...), fmt.Sprintf("--max-bytes=%d", s.MaxBytes),
			"--keybroker-url="+s.KeybrokerURL, "--token-file="+packerFolder+"/"+tokenFile, "--store-url="+s.StoreURL,
			"--temporary-directory="+packedFolder, "--result="+corev1.TerminationMessagePathDefault),
		Env: []corev1.EnvVar{{Name: envTrust, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: trustName}, Key: trustKey,
		}}}},
		Resources:                installResources("100m", "64Mi", "256Mi"),
		SecurityContext:          restrictedContainer(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: packedVolume, MountPath: packedFolder},
			{Name: packerVolume, MountPath: packerFolder, ReadOnly: true},
		},
	}
}

func installResources(cpu, memory, most string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(most)},
	}
}

// withGroup makes the volumes of a pod those of its processes' group.
func withGroup(s *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s.FSGroup = new(int64(user))
	return s
}
