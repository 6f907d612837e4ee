// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Stdio is a server that runs as a program, in its own container in the bridge's
// pod, with only the secrets that it is granted.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.install)",message="stdio needs an image with a command, or an install"
// +kubebuilder:validation:XValidation:rule="has(self.command) || has(self.install)",message="an image needs a command, such as [node, /app/server.js]: the bridge's own program takes the place of the image's entrypoint, and runs the command"
type Stdio struct {
	// image is the container's image. The default is the installation's image for
	// the method of install.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$')",message="image must be a container image's reference, such as registry.example.com/team/server:1.2.3"
	Image string `json:"image,omitempty"`

	// install is the published package of the server. It is installed once for all users.
	// +optional
	Install *Install `json:"install,omitempty"`

	// command is the program and its first arguments. The default comes from
	// install. The image's entrypoint does not run. Strings may name secrets, as in
	// headers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command,omitempty"`

	// args are further arguments of the program. They may name secrets, as in
	// headers. Anyone who can list the container's processes sees them, so a
	// variable or a file is a better place for secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Args []string `json:"args,omitempty"`

	// env are the program's environment variables, in addition to HOME, PATH, TMPDIR
	// and LANG, which every program has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []StdioVariable `json:"env,omitempty"`

	// files are written into memory of the container before the program starts, in
	// the folder ${CONFIG_DIR}, which command, args and env can use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Files []StdioFile `json:"files,omitempty"`

	// resources are the requests and limits of the container. Missing values come
	// from the installation's defaults.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// storage is a volume for files that outlive the container. Without it, all that
	// the program writes is lost when the bridge sleeps or its pod is replaced.
	// +optional
	Storage *StdioStorage `json:"storage,omitempty"`
}

// StdioStorage is a volume of one user's server. The operator makes a
// PersistentVolumeClaim for it, whose name nobody chooses: the server's name, a dot,
// and the name of the bridge's Deployment.
//
// +kubebuilder:validation:XValidation:rule="quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",message="size cannot become smaller: a volume never shrinks; remove the server, delete its PersistentVolumeClaim and add the server again to begin with an empty one"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot change: a volume stays in its class; remove the server, delete its PersistentVolumeClaim and add the server again to begin with an empty one"
type StdioStorage struct {
	// size is the requested size of the volume. It can grow later if the class allows
	// expansion, and never shrinks. The tier limits it.
	// +required
	Size StorageSize `json:"size"`

	// mountPath is where the program has the volume. No other container of the pod has
	// it.
	// +optional
	// +kubebuilder:default=/data
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$') && !self.matches('^/(bin|boot|dev|etc|hosted-bridge|hosted-bridge-bundles|hosted-bridge-files|hosted-bridge-image|lib|lib32|lib64|proc|run|sbin|sys|tmp|usr|var/run)(/|$)')",message="mountPath must be an absolute path such as /data, without . and .., and not in /tmp, /hosted-bridge, /hosted-bridge-bundles, /hosted-bridge-files, /hosted-bridge-image or a folder of the system such as /usr, /etc or /run"
	MountPath string `json:"mountPath,omitempty"`

	// storageClassName is the StorageClass of the volume. The default is the
	// cluster's default class. The class must support the access mode
	// ReadWriteOncePod. It cannot change later.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retention is what happens to the volume's PersistentVolumeClaim when the
	// HostedBridge is deleted or the server leaves spec.servers. Retain keeps it: a
	// HostedBridge of the same name, namespace and user gets it back. Delete deletes it,
	// unless it was made with Retain: then delete it yourself.
	// +optional
	// +kubebuilder:default=Retain
	Retention StorageRetention `json:"retention,omitempty"`
}

// StorageSize is a number of bytes, such as 100Mi or 1Gi.
//
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,11}(k|M|G|T|Ki|Mi|Gi|Ti)$')",message="size must be a whole number greater than 0 with a unit, such as 100Mi or 1Gi; the units are Ki, Mi, Gi, Ti, k, M, G and T"
type StorageSize string

// StorageRetention is what happens to a claim that no server uses any more.
//
// +kubebuilder:validation:Enum=Retain;Delete
type StorageRetention string

// The retentions.
const (
	// StorageRetain keeps the claim.
	StorageRetain StorageRetention = "Retain"
	// StorageDelete deletes the claim.
	StorageDelete StorageRetention = "Delete"
)

// DefaultStorageMountPath is where a program has its volume if nothing else is said.
const DefaultStorageMountPath = "/data"

// InstallMethod is the program that downloads and runs a package.
//
// +kubebuilder:validation:Enum=npx;uvx
type InstallMethod string

// The methods.
const (
	// InstallNPX runs a package of npm.
	InstallNPX InstallMethod = "npx"
	// InstallUVX runs a package of the Python Package Index.
	InstallUVX InstallMethod = "uvx"
)

// Install is an exact version of a published package.
//
// +kubebuilder:validation:XValidation:rule="self.method == 'npx' ? self.__package__.matches('^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*$') : self.__package__.matches('^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$')",message="package must be a package's name without a version, such as @modelcontextprotocol/server-memory for npx or mcp-server-fetch for uvx"
// +kubebuilder:validation:XValidation:rule="self.method == 'npx' ? self.version.matches('^[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?([+][0-9A-Za-z.-]+)?$') : self.version.matches('^([0-9]+!)?[0-9]+([.][0-9]+)*((a|b|rc)[0-9]+)?([.]post[0-9]+)?([.]dev[0-9]+)?$')",message="version must be one exact version, such as 1.2.3. A tag such as latest or a range such as ^1.2 installs other code on another day (with npx, 1.2 is a range too)"
type Install struct {
	// method is the program that downloads and runs the package.
	// +required
	Method InstallMethod `json:"method"`

	// package is the package's name. With uvx, the program has the same name; if its
	// name differs, set command.
	// +required
	// +kubebuilder:validation:MaxLength=214
	Package string `json:"package"`

	// version is the exact version of the package.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`
}

// StdioVariable is an environment variable of a program.
type StdioVariable struct {
	// name is the variable's name.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$')",message="a variable's name must be 1 to 128 letters, digits or underscores, not beginning with a digit"
	Name string `json:"name"`

	// value is the variable's value. It may name secrets, as in headers. Do not put
	// a secret value here.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// StdioFile is a file for a program.
type StdioFile struct {
	// name is the file's name, without a folder.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_][A-Za-z0-9._-]*$')",message="a file's name must be 1 to 128 letters, digits, dots, hyphens or underscores, beginning with a letter, a digit or an underscore"
	Name string `json:"name"`

	// content is the file's text. It may name secrets, as in headers. Do not put a
	// secret value here.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Content string `json:"content,omitempty"`
}
