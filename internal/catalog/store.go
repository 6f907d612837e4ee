// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// The reasons why a write is refused. Nothing was changed then.
var (
	ErrNotFound = errors.New("there is no such recipe or publisher in the catalog")
	ErrExists   = errors.New("the name is taken")
	ErrNotOwner = errors.New("the recipe belongs to somebody else")
	// ErrTakenBack says that an administrator removed the recipe from its
	// users. Its owner cannot restore it.
	ErrTakenBack = errors.New("an administrator took the recipe back")
	// ErrChanged says that If-Match names another revision than the current
	// one.
	ErrChanged = errors.New("the revision is another one now")
	// ErrNoPublisher says that the new owner of a recipe is neither a publisher
	// nor SeedOwner.
	ErrNoPublisher = errors.New("there is no such publisher")
	ErrTooManyKeys = errors.New("the publisher has as many keys as there may be")
)

// AnyRevision is the If-Match that every revision matches.
const AnyRevision = "*"

// ManagedError says that another field manager than the catalog's holds the
// fields to be written: the object is managed with other tools.
type ManagedError struct {
	// By are the field managers, sorted.
	By []string
}

// Error implements error.
func (e *ManagedError) Error() string {
	return "what would be written is held by the field managers " + strings.Join(e.By, ", ")
}

// InvalidError says that the catalog refuses the content of a write.
type InvalidError struct {
	Problems []Problem
}

// Error implements error.
func (e *InvalidError) Error() string { return MessageOf(e.Problems) }

// Draft is what a publisher or the seeder writes. It is their whole part of the
// object: fields that it lacks are removed.
type Draft struct {
	Name string
	// Owner is the publisher's id, or SeedOwner.
	Owner  string
	Recipe recipe.Recipe
	// Source is the recipe as its author wrote it, as JSON, if it is signed. It
	// is ignored for an unsigned recipe.
	Source     string
	Deprecated *Deprecation
}

// Replacement replaces a publisher's part of a recipe, or creates it.
type Replacement struct {
	Name string
	// Owner is the required owner of the recipe.
	Owner string
	// IfMatch is a revision that must match, or AnyRevision. It is ignored if
	// the recipe is to be created.
	IfMatch string
	// DryRun means that nothing is stored.
	DryRun bool
	// Draft returns what to write over the current entry: the zero Entry
	// for a new recipe, and the rest that its owner left if they deleted it. It is
	// called again each time that another writer was first; its errors are
	// those of the write.
	Draft func(live Entry) (Draft, error)
}

// SeedReport says what a seed did, or would do.
type SeedReport struct {
	// Source is where the recipes came from, without credentials.
	Source  string             `json:"source"`
	Counts  map[ChangeKind]int `json:"counts"`
	Changes []Change           `json:"changes"`
	Broken  []BrokenRecipe     `json:"broken,omitempty"`
	DryRun  bool               `json:"dryRun,omitempty"`
}

// BrokenRecipe is a file of the source that the catalog refuses.
type BrokenRecipe struct {
	// File is the path within the source.
	File string `json:"file"`
	// Name is the recipe's, if it can be read.
	Name     string    `json:"name,omitempty"`
	Problems []Problem `json:"problems"`
}

// ChangeError is why one change of a seed was not made.
type ChangeError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *ChangeError) Error() string { return "recipe " + e.Name + ": " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ChangeError) Unwrap() error { return e.Err }

// ChangeErrors are why some changes of a seed were not made, by name. All
// others were made.
type ChangeErrors []*ChangeError

// Error implements error. It names the first ones.
func (e ChangeErrors) Error() string {
	lines := make([]string, 0, MaxProblems+1)
	for i, one := range e {
		if i == MaxProblems {
			lines = append(lines, "and more")
			break
		}
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns the errors.
func (e ChangeErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}

// Publisher may write recipes. This is an administrator's view of it, without
// keys and hashes of keys.
type Publisher struct {
	ID          string         `json:"id"`
	DisplayName string         `json:"displayName,omitempty"`
	Contact     string         `json:"contact,omitempty"`
	Verified    bool           `json:"verified"`
	PublicKeys  []string       `json:"publicKeys,omitempty"`
	Keys        []PublisherKey `json:"keys"`
	Created     time.Time      `json:"createdAt"`
	// Revision changes with each change of the publisher, and not with the use
	// of its keys. It is opaque.
	Revision string `json:"revision"`
}

// PublisherKey is the public part of a publisher's key.
type PublisherKey struct {
	ID        string     `json:"id"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	// LastUsedAt is accurate to some minutes.
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
	// ExpiresAt is nil for a key that does not expire, RevokedAt for a key that
	// was not withdrawn.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}
