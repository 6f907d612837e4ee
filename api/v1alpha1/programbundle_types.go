// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProgramBundle is a published package as it is installed, with all of its dependencies. The
// operator makes one for each package that a server runs, in the namespace of the
// installation, and has it installed once, apart from everybody's secrets. Bridges start the
// program from it, so that no program is fetched when a user calls it, and no dependency
// changes by itself. Delete a ProgramBundle to have it made again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hpb,categories=hosted-bridge
// +kubebuilder:printcolumn:name="Package",type=string,JSONPath=`.spec.package`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Packages",type=integer,JSONPath=`.status.packages`
// +kubebuilder:printcolumn:name="Bridges",type=integer,JSONPath=`.status.bridges`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Digest",type=string,priority=1,JSONPath=`.status.digest`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ProgramBundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is installed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot change: delete the ProgramBundle to have it made again"
	Spec ProgramBundleSpec `json:"spec"`

	// status is the last observed state. The operator writes it.
	// +optional
	// +kubebuilder:default={}
	Status ProgramBundleStatus `json:"status,omitempty"`
}

// ProgramBundleList is a list of ProgramBundles.
//
// +kubebuilder:object:root=true
type ProgramBundleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProgramBundle `json:"items"`
}

// ProgramBundleSpec says what is installed, and for which machines.
type ProgramBundleSpec struct {
	Install `json:",inline"`

	// architecture is that of the machines on which the program runs, such as amd64 or arm64.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture"`

	// installScripts says that the install scripts of the package and of its dependencies run
	// when it is installed. With uvx, it says that those without a wheel are built. That never
	// happens beside a user's secrets.
	// +optional
	InstallScripts bool `json:"installScripts,omitempty"`
}

// ProgramBundleStatus is the last observed state of a ProgramBundle.
type ProgramBundleStatus struct {
	// observedGeneration is the generation of the spec that the operator last acted on. It is
	// -1 before.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions have Ready, whose reason is Ready, Installing, or what failed. Where the
	// installation has a registry they have InRegistry too, whose reason is Found, Pushed,
	// NotFound, Working, or what failed. Reconciling is there while the package is installed, and
	// Stalled after an install that failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// digest is the digest of the installed files, as sha256:<64 hexadecimal digits>. It does
	// not change as long as there is the ProgramBundle.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest,omitempty"`

	// reference is the image that pods mount as a volume, with its digest, such as
	// registry.example.com/mcp/bundles@sha256:<64 hexadecimal digits>. Without it the files come
	// from the installation's store.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reference string `json:"reference,omitempty"`

	// image is the image in which the package was installed.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// size is how much the files take, such as 26Mi, and bytes the same as a number.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Size string `json:"size,omitempty"`
	// bytes is the size of the files in bytes.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`

	// packages is how many packages there are, the program's own among them.
	// +optional
	Packages int32 `json:"packages,omitempty"`

	// scripts are the packages with install scripts, each as name@version. At most 16 are named.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=300
	Scripts []string `json:"scripts,omitempty"`

	// programs are the commands that the package has, and program is the one that is started
	// if nothing else is said.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Programs []BundledProgram `json:"programs,omitempty"`
	// program is the command that is started if nothing else is said.
	// +optional
	// +kubebuilder:validation:MaxLength=214
	Program string `json:"program,omitempty"`

	// bridges is how many HostedBridges have a server that runs the package.
	// +optional
	Bridges int32 `json:"bridges"`

	// unusedSince is since when no HostedBridge has such a server.
	// +optional
	UnusedSince *metav1.Time `json:"unusedSince,omitempty"`

	// attempts is how often the install, or then the upload to the registry, has failed in a
	// row, and retryTime when it is tried again.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// retryTime is when the install, or the upload, is tried again.
	// +optional
	RetryTime *metav1.Time `json:"retryTime,omitempty"`
}

// BundledProgram is a command of a package.
type BundledProgram struct {
	// name is the command's name.
	// +required
	// +kubebuilder:validation:MaxLength=214
	Name string `json:"name"`

	// path is the file that is started, relative to the installed files.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
}

// AnnotationImageRefused is when a node could not mount the image of a ProgramBundle, in RFC 3339.
const AnnotationImageRefused = "hostedbridge.dev/image-refused"

// ImageRefused returns when a node could not mount the bundle's image, zero if that is not known.
func (b *ProgramBundle) ImageRefused() time.Time {
	at, err := time.Parse(time.RFC3339, b.Annotations[AnnotationImageRefused])
	if err != nil {
		return time.Time{}
	}
	return at
}

// ConditionInRegistry says whether a ProgramBundle is an image in the installation's registry.
const ConditionInRegistry = "InRegistry"

// The reasons of a ProgramBundle's condition InRegistry, beside those of bundle.Code.
const (
	// ReasonFound: the registry had it, so that it was not installed.
	ReasonFound = "Found"
	// ReasonPushed: it was uploaded after it was installed.
	ReasonPushed = "Pushed"
	// ReasonNotFound: the registry does not have it, so that it is installed.
	ReasonNotFound = "NotFound"
	// ReasonRefused: a node could not mount it, so that it is uploaded again.
	ReasonRefused = "Refused"
	// ReasonWorking: it is being looked for, or uploaded.
	ReasonWorking = "Working"
)

// The reasons of a ProgramBundle's condition Ready, beside Ready and those of bundle.Code.
const (
	// ReasonInstalling: the package is being installed.
	ReasonInstalling = "Installing"
	// ReasonInstallFailed: the Job that installs the package did not say what came of it.
	ReasonInstallFailed = "InstallFailed"
)
