// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CatalogPublisher is an author who may write recipes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={publisher,publishers},categories=hosted-bridge
// +kubebuilder:printcolumn:name="Display-Name",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Verified",type=boolean,JSONPath=`.spec.verified`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CatalogPublisher struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the publisher and lists their keys.
	// +optional
	Spec CatalogPublisherSpec `json:"spec,omitempty"`

	// status is the last observed state of the publisher.
	// +optional
	Status CatalogPublisherStatus `json:"status,omitempty"`
}

// CatalogPublisherList is a list of CatalogPublishers.
//
// +kubebuilder:object:root=true
type CatalogPublisherList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CatalogPublisher `json:"items"`
}

// CatalogPublisherSpec identifies a publisher.
type CatalogPublisherSpec struct {
	// displayName is the publisher's name for people.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	DisplayName string `json:"displayName,omitempty"`

	// contact is an e-mail address or a URL of the publisher.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Contact string `json:"contact,omitempty"`

	// verified means that an administrator has checked the publisher's identity.
	// +optional
	Verified bool `json:"verified,omitempty"`

	// publicKeys are the keys with which the publisher signs recipes: Ed25519, PEM
	// or 32 bytes in base64. A signature is valid if one of these keys made it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	PublicKeys []string `json:"publicKeys,omitempty"`

	// keys give access to the catalog's write routes. Only their hashes are stored
	// here. A key that was revoked or has expired stays in the list: without its
	// entry, it could be added again.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=128
	Keys []PublisherKey `json:"keys,omitempty"`
}

// PublisherKey is a publisher's key, stored as a hash.
type PublisherKey struct {
	// id is the public part of the key: the <id> of pub_<id>_<secret>.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z]{8,32}$')",message="id must be the 8 to 32 letters and digits between the underscores of pub_<id>_<secret>"
	ID string `json:"id"`

	// hash is the SHA-256 of the whole key.
	// +required
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="hash must be sha256: and the 64 lower-case hex digits of the whole key's SHA-256, never the key itself"
	Hash string `json:"hash"`

	// createdAt is when the key was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`

	// expiresAt is when the key expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// revokedAt is when the key was revoked. A revoked key does not work.
	// +optional
	RevokedAt *metav1.Time `json:"revokedAt,omitempty"`
}

// CatalogPublisherStatus is the last observed state of a publisher.
type CatalogPublisherStatus struct {
	// keys is when each key was last used, with a precision of some minutes.
	// +optional
	// +listType=map
	// +listMapKey=id
	Keys []PublisherKeyStatus `json:"keys,omitempty"`
}

// PublisherKeyStatus is when a key was last used.
type PublisherKeyStatus struct {
	// id is the key's id.
	// +required
	ID string `json:"id"`

	// lastUsedAt is when the key was last used, with a precision of some minutes.
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
}
