// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BridgeGroup is a group of a directory, which writes it by SCIM. It counts in the namespace
// of the installation alone. The operator writes the groups of each person into the status of
// the BridgePerson.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=bridgegroups,shortName=hbg,categories=hosted-bridge
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Value",type=string,JSONPath=`.spec.value`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BridgeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the directory says of the group.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.issuer == oldSelf.issuer",message="a BridgeGroup stays one of the same issuer"
	Spec BridgeGroupSpec `json:"spec"`
}

// BridgeGroupList is a list of BridgeGroups.
//
// +kubebuilder:object:root=true
type BridgeGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BridgeGroup `json:"items"`
}

// BridgeGroupSpec is what a directory says of a group.
type BridgeGroupSpec struct {
	// issuer is the identity provider of the people in the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`

	// value is the name by which BridgeProfiles name the group: displayName or externalId, as
	// the installation is configured.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`

	// displayName is the name of the group in the directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	DisplayName string `json:"displayName"`

	// externalId is the directory's id of the group.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ExternalID string `json:"externalId,omitempty"`

	// members are the people in the group: the name of the BridgePerson, a hyphen, and its
	// spec.directory.incarnation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=64
	Members []string `json:"members,omitempty"`
}
