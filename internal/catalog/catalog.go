// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog is the model of the catalog of recipes: entries with their
// versions and revisions, publishers, what readers see of a recipe, and what a
// seed changes. Package validate has the rules that a recipe must obey, package
// search finds recipes.
//
// The package is pure: entries and times are arguments.
package catalog

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// SeedOwner is the owner of the recipes that the seeder writes.
const SeedOwner = recipe.InstallationPublisher

// Entry is one recipe of the catalog, as it is stored.
type Entry struct {
	// Name is the object's, and the recipe's id.
	Name string
	// Owner is a publisher's id, SeedOwner, or empty for a recipe that an
	// administrator applied.
	Owner string
	// Recipe is the author's text: the accepted version that is served, or, if
	// none was ever accepted, the one that waits for its check.
	Recipe recipe.Recipe
	// Source is the recipe as its author wrote it, as JSON, if a signature
	// covers it. Otherwise it is empty.
	Source string
	// Quality is the administrators' overlay, nil without one.
	Quality *Overlay
	// Deprecated is nil for a recipe that may be used.
	Deprecated *Deprecation
	// Deleted is when the owner deleted the recipe, nil for an existing one. A
	// deleted recipe keeps its owner, its versions and its overlay.
	Deleted *time.Time
	// Created is when the recipe was added to the catalog, Updated when the
	// served version was accepted. StatusAt is when its deprecation last began
	// or ended, zero if it was never deprecated.
	Created, Updated, StatusAt time.Time
	// Versions are the accepted versions, the newest first.
	Versions []Version
	// Revision changes with each write of the recipe and with each change of
	// the served version. It is opaque. Matches compares it as writers do.
	Revision string
	// Accepted means that Recipe may be served.
	Accepted bool
	// Here says whether bridges of this installation can run Recipe, nil if the
	// operator has not said so.
	Here *Here
	Waiting
}

// Waiting is what was written into an entry and is not served.
type Waiting struct {
	// Pending is the recipe of the object, if it is not the one that is served:
	// it waits for its check, or was refused. Refused says why.
	Pending *recipe.Recipe
	Refused string
}

// Here says whether bridges of this installation can run a recipe.
type Here struct {
	Runs bool `json:"runs"`
	// Reason is a word, and Why a sentence; both are empty if it runs.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
}

// Overlay is what the administrators add to a recipe.
type Overlay struct {
	Verified   *bool      `json:"verified,omitempty"`
	VerifiedAt *time.Time `json:"verifiedAt,omitempty"`
	VerifiedBy string     `json:"verifiedBy,omitempty"`
	Badge      string     `json:"badge,omitempty"`
	// UpstreamHash is the SHA-512 of the package that was checked, and
	// AuditedVersion its version.
	UpstreamHash   string `json:"upstreamHash,omitempty"`
	AuditedVersion string `json:"auditedVersion,omitempty"`
	// RecipeDigest is the version of the recipe that was checked.
	RecipeDigest string `json:"recipeDigest,omitempty"`
	// Score is from 0, unusable, to 100.
	Score *int   `json:"score,omitempty"`
	Notes string `json:"notes,omitempty"`
}

// Deprecation says since when and why a recipe should not be used anymore.
type Deprecation struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
	// ReplacedBy is the name of the recipe to use instead.
	ReplacedBy string `json:"replacedBy,omitempty"`
}

// Version is an accepted recipe.
type Version struct {
	// Version is the recipe's own, or one that VersionOf derives.
	Version string
	// Digest is the digest of Source, as the function Digest writes it.
	Digest string
	At     time.Time
	Recipe recipe.Recipe
	// Source is the recipe file, as JSON.
	Source string
	// Withdrawn means that the key that signed it no longer belongs to its
	// publisher: the version is kept, and must not be used.
	Withdrawn bool
}
