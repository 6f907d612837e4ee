// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BridgeProfile is what a group of users gets: a tier, servers and settings of their
// bridges. Only BridgeProfiles in the installation's own namespace have an effect.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hbp,categories=hosted-bridge
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.spec.tier`
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updated`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BridgeProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who the profile is for and what they get.
	// +required
	Spec BridgeProfileSpec `json:"spec"`

	// status is the last observed state of the profile.
	// +optional
	// +kubebuilder:default={}
	Status BridgeProfileStatus `json:"status,omitempty"`
}

// BridgeProfileList is a list of BridgeProfiles.
//
// +kubebuilder:object:root=true
type BridgeProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BridgeProfile `json:"items"`
}

// BridgeProfileSpec says who a profile is for and what they get.
type BridgeProfileSpec struct {
	// priority decides between profiles of one bridge: the highest comes first, and of
	// equal ones the first by name. The first profile that has a field decides it.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Priority int32 `json:"priority,omitempty"`

	// who selects the bridges.
	// +required
	Who ProfileSubjects `json:"who"`

	// tier is the tier of the bridges, in place of their own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Tier string `json:"tier,omitempty"`

	// mode is how the bridges list tools, in place of their own.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// toolPrefix is when tools have a prefix, in place of the bridges' own.
	// +optional
	ToolPrefix ToolPrefix `json:"toolPrefix,omitempty"`

	// idleTimeout is how long the bridges may be idle before they sleep, in place of
	// their own.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('1s')",message="idleTimeout must be a duration of hours, minutes and seconds such as 15m or 1h30m, and at least 1s"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// runtimeClassName is the RuntimeClass of the bridges' pods, in place of their own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// variables are texts for the servers of this profile: ${NAME} in headers, arguments,
	// environment variables and files is replaced by the value, and not by a secret.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Variables []ProfileVariable `json:"variables,omitempty"`

	// servers are the MCP servers that the profile gives.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Servers []ProfileServer `json:"servers,omitempty"`

	// allowChoices are the fields of spec.choices with which a HostedBridge may depart
	// from the profile.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	AllowChoices []ProfileChoice `json:"allowChoices,omitempty"`

	// rollout is how fast a change of the profile reaches the bridges.
	// +optional
	Rollout ProfileRollout `json:"rollout,omitzero"`
}

// ProfileSubjects selects bridges. A bridge is selected if its namespace is listed and
// it has one of the users or groups, or everyone is set.
//
// +kubebuilder:validation:XValidation:rule="(has(self.everyone) && self.everyone) ? !has(self.users) && !has(self.groups) : has(self.users) || has(self.groups)",message="who needs users, groups or both, or everyone: true alone"
type ProfileSubjects struct {
	// namespaces are the namespaces of the bridges, or * alone for all. People who may edit
	// HostedBridges there decide what they get by users and groups.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == ['*'] || self.all(n, n.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'))",message="namespaces must be names of namespaces, or * alone"
	Namespaces []string `json:"namespaces"`

	// users are user ids.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Users []UserID `json:"users,omitempty"`

	// groups are groups of users. One of them is enough.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Groups []ProfileGroup `json:"groups,omitempty"`

	// everyone selects all bridges of the namespaces.
	// +optional
	Everyone bool `json:"everyone,omitempty"`
}

// ProfileGroup is a group of users.
//
// +kubebuilder:validation:XValidation:rule="has(self.issuer) != has(self.fromNamespace)",message="a group has either issuer, the identity provider that names it, or fromNamespace, where HostedBridges name it in spec.groups: set one of the two"
type ProfileGroup struct {
	// issuer is the identity provider that names the group at a login, exactly as the
	// installation's configuration has it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer,omitempty"`

	// fromNamespace is the namespace in which a HostedBridge names the group in
	// spec.groups. Equal names of two namespaces are two groups.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FromNamespace string `json:"fromNamespace,omitempty"`

	// value is the name of the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
}

// ProfileVariable is a text for the servers of a profile.
type ProfileVariable struct {
	// name is the variable's name.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Z0-9_]*$')",message="a variable's name must be 1 to 64 upper-case letters, digits or underscores beginning with a letter, such as TEAM"
	Name string `json:"name"`

	// value is the text. It is not a secret: anyone who may read the profile or the
	// HostedBridge can read it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// ServerUse is whether a bridge has a server of a profile.
//
// +kubebuilder:validation:Enum=Required;Default;Optional;OnRequest
type ServerUse string

// The uses.
const (
	// ServerRequired is on, and replaces a server of the same name in the
	// HostedBridge.
	ServerRequired ServerUse = "Required"
	// ServerDefault is on unless spec.choices of the HostedBridge turns it off.
	ServerDefault ServerUse = "Default"
	// ServerOptional is off unless spec.choices of the HostedBridge turns it on.
	ServerOptional ServerUse = "Optional"
	// ServerOnRequest is as ServerOptional for users with an approved BridgeRequest, and off
	// for all others.
	ServerOnRequest ServerUse = "OnRequest"
)

// ProfileServer is a server that a profile gives.
//
// +kubebuilder:validation:XValidation:rule="[has(self.transport), has(self.recipe), has(self.shared)].filter(x, x).size() == 1",message="a server has one of transport, which says how it is reached, recipe, by which the catalog does, and shared, by which a SharedServer does"
// +kubebuilder:validation:XValidation:rule="!has(self.shared) || !has(self.secrets) && !has(self.auth)",message="shared excludes secrets and auth: the SharedServer has the secrets"
type ProfileServer struct {
	Server `json:",inline"`

	// shared is the SharedServer that defines how bridges reach the server, and whose
	// secrets they use. Bridges get it whose people are all its members.
	// +optional
	Shared *SharedReference `json:"shared,omitempty"`

	// use is whether a bridge has the server.
	// +optional
	// +kubebuilder:default=Default
	Use ServerUse `json:"use,omitempty"`
}

// ProfileChoice is a field that a HostedBridge may choose.
//
// +kubebuilder:validation:Enum=Mode;ToolPrefix;IdleTimeout
type ProfileChoice string

// The choices.
const (
	ChoiceMode        ProfileChoice = "Mode"
	ChoiceToolPrefix  ProfileChoice = "ToolPrefix"
	ChoiceIdleTimeout ProfileChoice = "IdleTimeout"
)

// RolloutPace is how a change of a profile reaches bridges.
//
// +kubebuilder:validation:Enum=Paced;Immediate
type RolloutPace string

// The paces.
const (
	// PacePaced updates some bridges a second.
	PacePaced RolloutPace = "Paced"
	// PaceImmediate updates all bridges at once, such as to take a server out of
	// service.
	PaceImmediate RolloutPace = "Immediate"
)

// ProfileRollout is how fast a change of a profile reaches the bridges. A change of
// the bridges that the profile selects is never paced.
type ProfileRollout struct {
	// pace is Paced or Immediate.
	// +optional
	// +kubebuilder:default=Paced
	Pace RolloutPace `json:"pace,omitempty"`

	// perSecond is how many bridges a paced change updates in a second. The first five
	// are updated 30 seconds before the others.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	PerSecond int32 `json:"perSecond,omitempty"`

	// maxFailures is how many bridges may fail after they were updated before a paced
	// change pauses. A bridge fails if it, or a server of the profile, stops working
	// within a minute.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxFailures int32 `json:"maxFailures,omitempty"`
}

// BridgeProfileStatus is the last observed state of a profile. The operator writes it.
type BridgeProfileStatus struct {
	// observedGeneration is the generation of the spec that the operator last checked. It is
	// -1 before.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Accepted, Conflicting, Progressing and Ready. Stalled or Reconciling is
	// there if the profile is not Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// matched is how many bridges the profile selects, and updated how many of these
	// have its last accepted revision.
	// +optional
	Matched int32 `json:"matched"`
	// updated is how many of the matched bridges have the last accepted revision.
	// +optional
	Updated int32 `json:"updated"`

	// paused means that a change does not reach more bridges, because too many failed
	// that have it. A change of the spec ends the pause.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// revisions are the last accepted revision of the spec, and during a rollout the one
	// before, the newest first. While the spec is not accepted, bridges have the last
	// accepted revision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Revisions []ProfileRevision `json:"revisions,omitempty"`
}

// ProfileRevision is a revision of a profile's spec.
type ProfileRevision struct {
	// generation is the spec's metadata.generation.
	// +required
	Generation int64 `json:"generation"`

	// spec is the spec as JSON.
	// +required
	// +kubebuilder:validation:MaxLength=262144
	Spec string `json:"spec"`
}
