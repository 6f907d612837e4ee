// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BridgePerson is what the installation knows of a person at an identity provider, or
// says of a user: the groups that the provider named at their last login, what a directory
// says of them, and whether they have access. It counts in the namespace of the installation
// alone.
//
// Of several BridgePersons of the same person, the one that leaves the least access counts.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bridgepersons,shortName=person,categories=hosted-bridge
// +kubebuilder:selectablefield:JSONPath=`.spec.user`
// +kubebuilder:selectablefield:JSONPath=`.spec.subject`
// +kubebuilder:selectablefield:JSONPath=`.status.login.user`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Directory",type=string,JSONPath=`.spec.directory.userName`
// +kubebuilder:printcolumn:name="Access",type=string,JSONPath=`.spec.access`
// +kubebuilder:printcolumn:name="Left",type=string,JSONPath=`.status.conditions[?(@.type=="Left")].reason`
// +kubebuilder:printcolumn:name="Groups",type=string,JSONPath=`.status.login.groups`
// +kubebuilder:printcolumn:name="Heard",type=date,JSONPath=`.status.login.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BridgePerson struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the person, and says whether they have access.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.user) ? !has(self.issuer) && !has(self.subject) && !has(self.directory) : has(self.issuer) && has(self.subject)",message="a BridgePerson has either user, or issuer and subject, with which it may have directory"
	// +kubebuilder:validation:XValidation:rule="has(self.user) == has(oldSelf.user) && (has(self.user) ? self.user == oldSelf.user : self.issuer == oldSelf.issuer && self.subject == oldSelf.subject)",message="a BridgePerson stays the same person: delete it and create one for the other"
	// +kubebuilder:validation:XValidation:rule="has(self.directory) == has(oldSelf.directory)",message="a BridgePerson of a directory stays one: delete it, or create another one"
	Spec BridgePersonSpec `json:"spec"`

	// status is what was heard of the person, and how far the person has left.
	// +optional
	Status BridgePersonStatus `json:"status,omitempty"`
}

// BridgePersonList is a list of BridgePersons.
//
// +kubebuilder:object:root=true
type BridgePersonList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BridgePerson `json:"items"`
}

// Access is whether a person may use the installation.
//
// +kubebuilder:validation:Enum=Allowed;Suspended;Offboarded
type Access string

// The accesses, from most to least.
const (
	// AccessAllowed takes nothing away.
	AccessAllowed Access = "Allowed"
	// AccessSuspended refuses keys and logins and stops the pods, and keeps everything.
	AccessSuspended Access = "Suspended"
	// AccessOffboarded is as AccessSuspended. It also ends keys and logins, so that they do
	// not come back, and destroys the secrets after the keybroker's retention time.
	AccessOffboarded Access = "Offboarded"
)

// BridgePersonSpec identifies a person, and says whether they have access.
type BridgePersonSpec struct {
	// user is the user id of a HostedBridge. It stands for whoever uses that bridge, by a
	// key or a login.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')",message="user must be 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	User UserID `json:"user,omitempty"`

	// issuer is the identity provider.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer,omitempty"`

	// subject is the sub that the issuer gives to the person.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Subject string `json:"subject,omitempty"`

	// access is Allowed, Suspended or Offboarded.
	// +optional
	// +kubebuilder:default=Allowed
	Access Access `json:"access,omitempty"`

	// directory is what a directory says of the person by SCIM. The ingress writes it, and
	// with it access. subject is then the directory's externalId of the person.
	// +optional
	Directory *PersonDirectory `json:"directory,omitempty"`
}

// PersonDirectory is what a directory says of a person.
type PersonDirectory struct {
	// incarnation is larger each time that the directory creates the person. Groups of the
	// directory have the person of one incarnation, so that somebody who is created again is
	// in none.
	// +required
	// +kubebuilder:validation:Minimum=1
	Incarnation int64 `json:"incarnation"`

	// userName and displayName are the directory's names of the person. They have no effect.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	UserName string `json:"userName"`
	// displayName is the name of the person as people read it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DisplayName string `json:"displayName,omitempty"`

	// profile is what else the directory says of the person, as a JSON object of standard
	// attributes of SCIM: name, emails, title and languages. It has no effect, goes back to the
	// directory, and is removed when the directory deletes the person.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Profile string `json:"profile,omitempty"`

	// active is whether the person is active in the directory.
	// +required
	Active bool `json:"active"`

	// deleted says that the directory deleted the person.
	// +optional
	Deleted bool `json:"deleted,omitempty"`

	// dryRun says that the directory is tried out: it takes no access away, and its groups
	// do not count.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// BridgePersonStatus is what was heard of a person, and how far the person has left.
type BridgePersonStatus struct {
	// login is what the provider said when the person last logged in, or when their
	// groups were last asked for. The ingress writes it.
	// +optional
	Login *PersonLogin `json:"login,omitempty"`

	// directory is in which groups of a directory the person is. The operator writes it.
	// +optional
	Directory *PersonDirectoryGroups `json:"directory,omitempty"`

	// loginsEndedTime is when logins and keys ended for the last time. An earlier login does
	// not count, also if the person gets access again. The ingress writes it.
	// +optional
	LoginsEndedTime *metav1.Time `json:"loginsEndedTime,omitempty"`

	// observedGeneration is the generation of the spec that the operator last acted on. It
	// is not set before the access of the person was taken away for the first time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// bridges are the HostedBridges that the person could use when their access was taken
	// away, also those that were deleted since. The operator writes them.
	// +optional
	// +listType=map
	// +listMapKey=uid
	// +kubebuilder:validation:MaxItems=256
	Bridges []PersonBridge `json:"bridges,omitempty"`

	// conditions are Stopped, and for a person who is offboarded also SecretsDestroyed,
	// Deleted and Left. Reconciling is there while something is left to do but to wait for the
	// end of the retention time. The operator writes them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// audited are the steps of leaving that are in the audit trail. The ingress writes them.
	// +optional
	// +listType=map
	// +listMapKey=step
	// +kubebuilder:validation:MaxItems=16
	Audited []AuditedStep `json:"audited,omitempty"`
}

// PersonDirectoryGroups are the groups of a directory in which a person is.
type PersonDirectoryGroups struct {
	// incarnation is that of the person for which the groups were found.
	// +required
	Incarnation int64 `json:"incarnation"`

	// groups are the person's groups, as far as BridgeProfiles, or SharedServers under
	// members, name them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`

	// leftOut is how many more of these groups the person is in than groups has room for.
	// groups has those of the BridgeProfiles that decide first.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LeftOut int32 `json:"leftOut,omitempty"`
}

// The conditions of a BridgePerson without access.
const (
	// ConditionStopped says whether the pods of all bridges have ended that nobody else
	// may use.
	ConditionStopped = "Stopped"
	// ConditionSecretsDestroyed says whether no secret of these bridges can be opened any
	// more.
	ConditionSecretsDestroyed = "SecretsDestroyed"
	// ConditionDeleted says whether these bridges are deleted, as far as logins made them.
	ConditionDeleted = "Deleted"
	// ConditionLeft says whether nothing is left to do.
	ConditionLeft = "Left"
)

// The reasons of these conditions.
const (
	// ReasonLeavingDone: the step is done.
	ReasonLeavingDone = "Done"
	// ReasonLeavingLogins: keys and logins are about to end for good.
	ReasonLeavingLogins = "LoginsEnding"
	// ReasonLeavingPods: pods are ending.
	ReasonLeavingPods = "PodsEnding"
	// ReasonLeavingRetained: the secrets are kept until the end of the retention time.
	ReasonLeavingRetained = "Retained"
	// ReasonLeavingBridges: bridges are about to be deleted.
	ReasonLeavingBridges = "BridgesExist"
)

// PersonBridge is a HostedBridge of a person.
type PersonBridge struct {
	// uid is the bridge's UID.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`

	// namespace and name are the bridge's.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name is the name of the HostedBridge.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// shared says that other people may use the bridge. It runs on, without the person.
	// +optional
	Shared bool `json:"shared"`

	// stopped says that no pod of the bridge runs.
	// +optional
	Stopped bool `json:"stopped"`

	// secretsRetainedUntil is when the keybroker destroys the secrets.
	// +optional
	SecretsRetainedUntil *metav1.Time `json:"secretsRetainedUntil,omitempty"`

	// secretsDestroyedTime is when the keybroker had destroyed the secrets.
	// +optional
	SecretsDestroyedTime *metav1.Time `json:"secretsDestroyedTime,omitempty"`

	// deletedTime is when the operator noticed that the bridge was deleted.
	// +optional
	DeletedTime *metav1.Time `json:"deletedTime,omitempty"`
}

// AuditedStep is a step of leaving that is in the audit trail.
type AuditedStep struct {
	// step is AccessTaken, LoginsEnded, or one of the conditions.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Step string `json:"step"`

	// time is when the step was done.
	// +required
	Time metav1.Time `json:"time"`
}

// PersonLogin is what a provider said of a person.
type PersonLogin struct {
	// time is when the provider said it.
	// +required
	Time metav1.Time `json:"time"`

	// user is the user that the provider's rule makes of the person, if there is one.
	// +optional
	User UserID `json:"user,omitempty"`

	// groups are the person's groups, as far as BridgeProfiles, or SharedServers under
	// members, name them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`

	// leftOut is how many more of these groups the provider named than groups has room
	// for. groups has those of the BridgeProfiles that decide first.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LeftOut int32 `json:"leftOut,omitempty"`

	// otherGroups is how many other groups the provider named at that time. They have no
	// effect and are not stored.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OtherGroups int32 `json:"otherGroups,omitempty"`
}
