// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Stdio is a server that is a program. It runs in a container of its own in the
// bridge's pod, with only the secrets that it is granted.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.install)",message="stdio needs an image with a command, or an install"
// +kubebuilder:validation:XValidation:rule="has(self.command) || has(self.install)",message="an image needs a command, such as [node, /app/server.js]: the bridge's own program takes the place of the image's entrypoint, and runs the command"
type Stdio struct {
	// image is the container's image. Where it is not set it is the
	// installation's image for the install's method.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$')",message="image must be a container image's reference, such as registry.example.com/team/server:1.2.3"
	Image string `json:"image,omitempty"`

	// install is the published package that is the server. It is fetched when
	// the program starts.
	// +optional
	Install *Install `json:"install,omitempty"`

	// command is the program and the first of its arguments. Where it is not
	// set it is that of the install. The image's entrypoint is not run. Texts
	// may name secrets as those of headers do.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command,omitempty"`

	// args are the program's further arguments. They may name secrets as
	// headers do; who can list the container's processes sees those, so that a
	// variable or a file is the better place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Args []string `json:"args,omitempty"`

	// env are the program's environment variables, besides HOME, PATH, TMPDIR
	// and LANG, which every program has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []StdioVariable `json:"env,omitempty"`

	// files are written into the container's memory before the program starts,
	// into the folder that ${CONFIG_DIR} stands for in command, args and env.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Files []StdioFile `json:"files,omitempty"`

	// resources are the requests and limits of the container. What they do not
	// mention has the installation's defaults.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// InstallMethod is the program that fetches and runs a package.
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

// Install is a published package in one exact version.
//
// +kubebuilder:validation:XValidation:rule="self.method == 'npx' ? self.__package__.matches('^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*$') : self.__package__.matches('^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$')",message="package must be a package's name without a version, such as @modelcontextprotocol/server-memory for npx or mcp-server-fetch for uvx"
// +kubebuilder:validation:XValidation:rule="self.method == 'npx' ? self.version.matches('^[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?([+][0-9A-Za-z.-]+)?$') : self.version.matches('^([0-9]+!)?[0-9]+([.][0-9]+)*((a|b|rc)[0-9]+)?([.]post[0-9]+)?([.]dev[0-9]+)?$')",message="version must be one exact version, such as 1.2.3: neither a tag such as latest nor a range such as ^1.2, of which another day gives other code (with npx, 1.2 is a range too)"
type Install struct {
	// method is the program that fetches and runs the package.
	// +required
	Method InstallMethod `json:"method"`

	// package is the package's name. With uvx the program has the same name;
	// where it has another, set command.
	// +required
	// +kubebuilder:validation:MaxLength=214
	Package string `json:"package"`

	// version is the package's one exact version.
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

	// value is the variable's value. It may name secrets as those of headers
	// do. A value that is secret itself does not belong here.
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

	// content is the file's text. It may name secrets as values of headers do.
	// A text that is secret itself does not belong here.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Content string `json:"content,omitempty"`
}
