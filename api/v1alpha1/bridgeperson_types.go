// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BridgePerson is a person at an identity provider, with the groups that the provider
// named at their last login. The installation writes it, in its own namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:ac:generate=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bridgepersons,shortName=person,categories=hosted-bridge
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Groups",type=string,JSONPath=`.status.login.groups`
// +kubebuilder:printcolumn:name="Heard",type=date,JSONPath=`.status.login.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BridgePerson struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the person.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a BridgePerson stays the same person: delete it and create one for the other"
	Spec BridgePersonSpec `json:"spec"`

	// status is what was heard of the person.
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

// BridgePersonSpec identifies a person.
type BridgePersonSpec struct {
	// issuer is the identity provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`

	// subject is the sub that the issuer gives to the person.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Subject string `json:"subject"`
}

// BridgePersonStatus is what was heard of a person.
type BridgePersonStatus struct {
	// login is what the provider said when the person last logged in, or when their
	// groups were last asked for.
	// +optional
	Login *PersonLogin `json:"login,omitempty"`
}

// PersonLogin is what a provider said of a person.
type PersonLogin struct {
	// time is when the provider said it.
	// +required
	Time metav1.Time `json:"time"`

	// user is the user that the provider's rule makes of the person, if there is one.
	// +optional
	User UserID `json:"user,omitempty"`

	// groups are the person's groups, as far as BridgeProfiles name them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`
}
