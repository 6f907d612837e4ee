// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SharedServer is an MCP server with secrets that a group shares. Its owners set the
// secrets, and bridges of members use them without anybody reading them. Only SharedServers
// in the installation's own namespace have an effect.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hbs,categories=hosted-bridge
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.server.transport.url`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.members`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Key-Version",type=integer,priority=1,JSONPath=`.status.keyVersion`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="metadata.name must be 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
type SharedServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is shared, and with whom.
	// +required
	Spec SharedServerSpec `json:"spec"`

	// status is the last observed state. The keybroker writes it.
	// +optional
	// +kubebuilder:default={}
	Status SharedServerStatus `json:"status,omitempty"`
}

// SharedServerList is a list of SharedServers.
//
// +kubebuilder:object:root=true
type SharedServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SharedServer `json:"items"`
}

// SharedServerSpec says what is shared, and with whom.
type SharedServerSpec struct {
	// server is how bridges reach the MCP server.
	// +required
	Server SharedEndpoint `json:"server"`

	// secrets are the names of the secrets that owners set and headers name.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Secrets []SecretName `json:"secrets"`

	// members are the groups whose bridges may use the server, if a BridgeProfile gives it
	// to them. All people of a bridge must be in one of the groups.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Members []IssuerGroup `json:"members"`

	// owners are the groups whose people may set the secrets.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Owners []IssuerGroup `json:"owners"`

	// namespaces are the namespaces of the bridges, or * alone for all. People who may edit
	// HostedBridges there decide who uses a bridge.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == ['*'] || self.all(n, n.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'))",message="namespaces must be names of namespaces, or * alone"
	Namespaces []string `json:"namespaces"`
}

// SharedEndpoint is how bridges reach a shared MCP server.
type SharedEndpoint struct {
	// transport is how bridges reach the server, over HTTP. ${NAME} in a header is one of
	// spec.secrets.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.type != 'Stdio'",message="a shared server is reached over HTTP, by type StreamableHTTP or SSE: a program could print the secrets"
	Transport Transport `json:"transport"`
}

// IssuerGroup is a group of an identity provider. Groups of manifests give no shared
// secrets.
type IssuerGroup struct {
	// issuer is the identity provider that names the group at a login, exactly as the
	// installation's configuration has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`

	// value is the name of the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
}

// SharedReference names a SharedServer.
type SharedReference struct {
	// name is the SharedServer's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
}

// SharedServerStatus is the last observed state of a SharedServer.
type SharedServerStatus struct {
	// observedGeneration is the generation of the spec that the keybroker last acted on. It is
	// -1 before.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Accepted, SecretsSealed and Ready. Stalled is there if the server is not
	// Ready: somebody has to change the spec or set a secret.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// set are the secrets that are set for the origin of the server's URL, and missing
	// those of spec.secrets that are not.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Set []string `json:"set,omitempty"`
	// missing are the secrets of spec.secrets that are not set for the origin of the server's
	// URL.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Missing []string `json:"missing,omitempty"`

	// revision changes when a secret is set or removed. It says nothing else of the values.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// keyVersion is the lowest version of the master key that seals any of the secrets.
	// +optional
	KeyVersion *int32 `json:"keyVersion,omitempty"`

	// members is how many people are known to be in a group of spec.members, and have
	// access.
	// +optional
	Members int32 `json:"members"`
}

// MaxSharedServers is how many SharedServers an installation accepts, the oldest first.
const MaxSharedServers = 256

// The reasons of a SharedServer's conditions beside Accepted, InvalidServer, InvalidHeader,
// SecretNotGranted, Sealed, SecretsMissing and SecretsUnreadable, which HostedBridges have
// too.
const (
	// ReasonTooManyShared: the installation has as many SharedServers as it accepts.
	ReasonTooManyShared = "TooManySharedServers"
	// ReasonOriginChanged: a secret was set for another origin of the server's URL. Bridges
	// do not get it until an owner sets it for this one.
	ReasonOriginChanged = "OriginChanged"
	// ReasonSharedReady: bridges of members can use the server.
	ReasonSharedReady = "Ready"
)
