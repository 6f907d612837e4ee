// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog decides what the catalog of recipes holds and shows: the rules
// that a recipe must obey, what readers see of it, how recipes are found and
// what a seed changes.
//
// The package is pure: entries and times are arguments.
package catalog

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// SeedOwner is the owner of the recipes that the seeder writes.
const SeedOwner = "seed"

// Entry is one recipe of the catalog, as it is kept.
type Entry struct {
	// Name is the object's, and the recipe's id.
	Name string
	// Owner is a publisher's id, SeedOwner, or empty for a recipe that somebody
	// applied.
	Owner string
	// Recipe is what the author says: the accepted version that is served, or,
	// where none was ever accepted, the one that waits for it.
	Recipe recipe.Recipe
	// Source is the recipe as its author wrote it, as JSON, where a signature
	// covers it. Otherwise it is empty.
	Source string
	// Quality is what the administrators say, nil for nothing.
	Quality *Overlay
	// Deprecated is nil for a recipe that may be used.
	Deprecated *Deprecation
	// Deleted is when the owner deleted the recipe, nil for one that is there. Of
	// what was deleted there are the owner, the versions and the overlay.
	Deleted *time.Time
	// Created is when the recipe came into the catalog, Updated when the version
	// that is served was accepted. StatusAt is when its deprecation began or ended
	// last, zero where there never was one.
	Created, Updated, StatusAt time.Time
	// Versions are those that were accepted, the newest first.
	Versions []Version
	// Revision changes with each write of the recipe and with each change of what
	// is served. It is opaque. Matches compares it as writers do.
	Revision string
	// Accepted says that Recipe may be served.
	Accepted bool
	// Pending is what the object says where that is another recipe than the one
	// that is served: it waits for its check, or was refused. Refused says why.
	Pending *recipe.Recipe
	Refused string
}

// Overlay is what the catalog's administrators say of a recipe.
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

// Version is a recipe as it was accepted once.
type Version struct {
	// Version is the recipe's own, or one that VersionOf makes up.
	Version string
	// Digest is that of Source, as Digest writes it.
	Digest string
	At     time.Time
	Recipe recipe.Recipe
	// Source is the recipe file, as JSON.
	Source string
	// Withdrawn says that the key that signed it is not its publisher's anymore:
	// it is kept, and not to be used.
	Withdrawn bool
}
