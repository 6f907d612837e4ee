// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CatalogRecipe is one recipe of the catalog: the author's description of an MCP
// server (spec.recipe) and the administrators' assessment of the recipe
// (spec.quality). Each part has its own field owner, so neither writer can undo
// the changes of the other.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={recipe,recipes},categories=hosted-bridge
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.recipe.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.recipe.recipeVersion`
// +kubebuilder:printcolumn:name="Category",type=string,JSONPath=`.spec.recipe.metadata.category`
// +kubebuilder:printcolumn:name="Verified",type=boolean,JSONPath=`.spec.quality.verified`
// +kubebuilder:printcolumn:name="Score",type=integer,JSONPath=`.spec.quality.score`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Deprecated",type=string,JSONPath=`.status.conditions[?(@.type=="Deprecated")].status`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.recipe) || self.metadata.name == self.spec.recipe.id",message="metadata.name must be spec.recipe.id"
type CatalogRecipe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the recipe and its assessment.
	// +optional
	Spec CatalogRecipeSpec `json:"spec,omitempty"`

	// status is the last observed state of the recipe.
	// +optional
	// +kubebuilder:default={}
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
	// recipe is the author's description. The seeder or the publisher owns it.
	// +optional
	Recipe *Recipe `json:"recipe,omitempty"`

	// source is the recipe as its author signed it, as JSON. A signature covers the
	// author's text, which can have members that recipe leaves out, such as a member
	// with the value false. source is empty without a signature.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Source string `json:"source,omitempty"`

	// owner is the name of the CatalogPublisher that owns the recipe; seed for a
	// recipe of the seeder; empty for a recipe that was applied directly. Only an
	// administrator changes the owner of a recipe.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// deprecated means that the recipe should not be used any more. The catalog
	// still serves it.
	// +optional
	Deprecated *RecipeDeprecation `json:"deprecated,omitempty"`

	// deleted is when the owner deleted the recipe. The owner keeps the name, and
	// the next version is still checked against the accepted versions, until an
	// administrator deletes the object.
	// +optional
	Deleted *metav1.Time `json:"deleted,omitempty"`

	// quality is the administrators' assessment. They own it.
	// +optional
	Quality *QualityOverlay `json:"quality,omitempty"`
}

// RecipeDeprecation is the time and the reason of a deprecation.
type RecipeDeprecation struct {
	// since is when the recipe was deprecated.
	// +required
	Since metav1.Time `json:"since"`

	// reason is the reason, in a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// replacedBy is the id of the recipe to use instead.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$')",message="replacedBy must be the id of a recipe"
	ReplacedBy string `json:"replacedBy,omitempty"`
}

// QualityOverlay is the assessment of a recipe by the catalog's administrators.
type QualityOverlay struct {
	// verified means that an administrator has checked the recipe.
	// +optional
	Verified *bool `json:"verified,omitempty"`

	// verifiedAt is when the recipe was checked.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`

	// verifiedBy is the person who checked the recipe.
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

	// auditedVersion is the version of the package that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AuditedVersion string `json:"auditedVersion,omitempty"`

	// recipeDigest is the digest in status.versions of the recipe version that was
	// checked. The assessment of one version does not apply to another version.
	// Without a digest, a recipe that has an owner counts as verified only if
	// verifiedAt is not before the time at which the served version was accepted.
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

// CatalogRecipeStatus is the last observed state of a recipe.
type CatalogRecipeStatus struct {
	// observedGeneration is the generation of the spec that was last checked. It is -1 before.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions hold Accepted: whether the current recipe obeys the rules. Only an
	// accepted recipe is served. A recipe with an accepted version also has Hostable:
	// whether bridges of this installation can run it. A recipe that was ever
	// deprecated also has Deprecated, which says since when it is, or is not,
	// deprecated. Stalled is there if the recipe is not accepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// versions are the accepted versions of the recipe, the newest first: at most
	// ten, and fewer if they are long. The catalog serves the first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Versions []RecipeVersion `json:"versions,omitempty"`
}

// RecipeVersion is an accepted version of a recipe.
type RecipeVersion struct {
	// version is the recipe's recipeVersion. If the recipe has none, it is the first
	// 12 digits of the digest.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`

	// digest is the SHA-256 of recipe.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`

	// acceptedAt is when the version was accepted.
	// +required
	AcceptedAt metav1.Time `json:"acceptedAt"`

	// recipe is the recipe file, as JSON.
	// +required
	// +kubebuilder:validation:MaxLength=262144
	Recipe string `json:"recipe"`

	// withdrawn means that the version is signed, but by none of its publisher's
	// current keys. Its author is no longer known, so it is not served and must not
	// run. It is checked again when the publisher's keys change.
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
	// ConditionRecipeHostable says whether bridges of this installation can run the
	// version that is served, as the installation is configured. A recipe without
	// an accepted version does not have it.
	ConditionRecipeHostable = "Hostable"
)

// Reasons of a recipe's Hostable condition, beside ReasonRecipeLocalOnly and
// ReasonRecipeNotHostable.
const (
	// ReasonRecipeHostable is that a bridge can run it.
	ReasonRecipeHostable = "Hostable"
	// ReasonRecipeUnreachable is that the installation's rules for addresses let no
	// bridge connect to the server.
	ReasonRecipeUnreachable = "Unreachable"
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
	// ReasonRecipeMissing means that an overlay has no recipe below it.
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
