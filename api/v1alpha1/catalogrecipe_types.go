// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CatalogRecipe is one recipe of the catalog: what its author says of an MCP
// server (spec.recipe) beside what the catalog's administrators say of the
// recipe (spec.quality). Each half has its own field owner, so that neither
// writer can undo the other.
//
// +kubebuilder:object:root=true
// +kubebuilder:ac:generate=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=recipe,categories=hosted-bridge
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.recipe.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.recipe.recipeVersion`
// +kubebuilder:printcolumn:name="Category",type=string,JSONPath=`.spec.recipe.metadata.category`
// +kubebuilder:printcolumn:name="Verified",type=boolean,JSONPath=`.spec.quality.verified`
// +kubebuilder:printcolumn:name="Score",type=integer,JSONPath=`.spec.quality.score`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CatalogRecipe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the recipe and what is said of it.
	// +optional
	Spec CatalogRecipeSpec `json:"spec,omitempty"`

	// status is what was last seen of the recipe.
	// +optional
	Status CatalogRecipeStatus `json:"status,omitempty"`
}

// CatalogRecipeList is a list of CatalogRecipes.
//
// +kubebuilder:object:root=true
type CatalogRecipeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CatalogRecipe `json:"items"`
}

// CatalogRecipeSpec is a recipe and its quality overlay.
type CatalogRecipeSpec struct {
	// recipe is what the author says. The seeder or the publisher owns it.
	// +optional
	Recipe *Recipe `json:"recipe,omitempty"`

	// quality is what the administrators say. They own it.
	// +optional
	Quality *QualityOverlay `json:"quality,omitempty"`
}

// QualityOverlay is what the catalog's administrators say of a recipe.
type QualityOverlay struct {
	// verified says that somebody has checked the recipe.
	// +optional
	Verified *bool `json:"verified,omitempty"`

	// verifiedAt is when.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`

	// verifiedBy is who.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	VerifiedBy string `json:"verifiedBy,omitempty"`

	// badge is a short word shown beside the recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Badge string `json:"badge,omitempty"`

	// upstreamHash is the SHA-512 of the package that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	UpstreamHash string `json:"upstreamHash,omitempty"`

	// auditedVersion is the package's version that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AuditedVersion string `json:"auditedVersion,omitempty"`

	// score is from 0, unusable, to 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Score *int32 `json:"score,omitempty"`

	// notes are free text.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Notes string `json:"notes,omitempty"`
}

// CatalogRecipeStatus is what was last seen of a recipe.
type CatalogRecipeStatus struct {
	// observedGeneration is the generation of the spec that was last checked.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions hold Accepted: whether the recipe is well-formed. Only an
	// accepted recipe is served.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
