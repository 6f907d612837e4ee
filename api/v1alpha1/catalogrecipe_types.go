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
// +kubebuilder:resource:shortName={recipe,recipes},categories=hosted-bridge
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.recipe.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.recipe.recipeVersion`
// +kubebuilder:printcolumn:name="Category",type=string,JSONPath=`.spec.recipe.metadata.category`
// +kubebuilder:printcolumn:name="Verified",type=boolean,JSONPath=`.spec.quality.verified`
// +kubebuilder:printcolumn:name="Score",type=integer,JSONPath=`.spec.quality.score`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.recipe) || self.metadata.name == self.spec.recipe.id",message="metadata.name must be spec.recipe.id"
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.deleted) || !has(self.recipe)",message="deleted must go before there is a recipe again"
type CatalogRecipeSpec struct {
	// recipe is what the author says. The seeder or the publisher owns it.
	// +optional
	Recipe *Recipe `json:"recipe,omitempty"`

	// source is the recipe as its author signed it, as JSON. A signature covers
	// what an author wrote, in which a member may stand that recipe leaves out,
	// such as one that is false. Without a signature there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Source string `json:"source,omitempty"`

	// owner is the publisher whose recipe this is, by the name of the
	// CatalogPublisher; seed for one that the seeder wrote; empty for one that
	// somebody applied. Only an administrator gives a recipe another owner.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// deprecated says that the recipe should not be used anymore. It is served
	// all the same.
	// +optional
	Deprecated *RecipeDeprecation `json:"deprecated,omitempty"`

	// deleted is when the owner deleted the recipe. The name stays the owner's,
	// and the versions that were accepted stay what the next one is checked
	// against, until an administrator deletes the object.
	// +optional
	Deleted *metav1.Time `json:"deleted,omitempty"`

	// quality is what the administrators say. They own it.
	// +optional
	Quality *QualityOverlay `json:"quality,omitempty"`
}

// RecipeDeprecation says since when and why a recipe should not be used.
type RecipeDeprecation struct {
	// since is when it was deprecated.
	// +required
	Since metav1.Time `json:"since"`

	// reason is why, in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// replacedBy is the recipe to use instead, by its id.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$')",message="replacedBy must be the id of a recipe"
	ReplacedBy string `json:"replacedBy,omitempty"`
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

	// recipeDigest is the version of the recipe that was checked, by its digest
	// in status.versions. What is said of one version does not hold for another.
	// Without it, where the recipe has an owner, it counts as verified only if
	// verifiedAt does not lie before the version that is served was accepted.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^sha256:[0-9a-f]{64}$')",message="recipeDigest must be sha256: and 64 hexadecimal digits"
	RecipeDigest string `json:"recipeDigest,omitempty"`

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

	// conditions hold Accepted: whether the recipe that is there now obeys the
	// rules. Only an accepted recipe is served. One that was ever deprecated has
	// Deprecated besides, which says since when it is, or is not anymore.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// versions are the recipe as it was accepted, the newest first: at most ten,
	// and fewer of long ones. The first is what the catalog serves.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Versions []RecipeVersion `json:"versions,omitempty"`
}

// RecipeVersion is a recipe as it was accepted once.
type RecipeVersion struct {
	// version is the recipe's recipeVersion. A recipe without one has the first
	// 12 digits of its digest.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`

	// digest is the SHA-256 of recipe.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`

	// acceptedAt is when it was.
	// +required
	AcceptedAt metav1.Time `json:"acceptedAt"`

	// recipe is the recipe file, as JSON.
	// +required
	// +kubebuilder:validation:MaxLength=262144
	Recipe string `json:"recipe"`

	// withdrawn says that the version is signed, and by no key that its
	// publisher has now: nobody knows anymore whose recipe it is, so it is not
	// served and not to be run. It is looked at anew whenever the publisher's
	// keys change.
	// +optional
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Conditions of a recipe.
const (
	// ConditionRecipeAccepted says whether a recipe obeys the catalog's rules.
	ConditionRecipeAccepted = "Accepted"
	// ConditionRecipeDeprecated says whether a recipe is deprecated. One that
	// never was does not have it.
	ConditionRecipeDeprecated = "Deprecated"
)

// Reasons of a recipe's Deprecated condition.
const (
	// ReasonDeprecationSaid is that spec.deprecated is there.
	ReasonDeprecationSaid = "Said"
	// ReasonDeprecationTakenBack is that it was, and is not anymore.
	ReasonDeprecationTakenBack = "TakenBack"
)

// Reasons of a recipe's Accepted condition.
const (
	// ReasonRecipeValid is that the recipe is served.
	ReasonRecipeValid = "Valid"
	// ReasonRecipeMissing is that there is an overlay, and no recipe below it.
	ReasonRecipeMissing = "RecipeMissing"
	// ReasonRecipeInvalid is that the recipe breaks the rules. The message says
	// which ones.
	ReasonRecipeInvalid = "Invalid"
	// ReasonRecipeSignature is that the signature is not one of the publisher
	// over this recipe.
	ReasonRecipeSignature = "SignatureInvalid"
	// ReasonRecipeVersion is that the recipe is older than an accepted one, or
	// another one under the same version.
	ReasonRecipeVersion = "VersionNotNewer"
)
