// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// What keeps a write from being done. Nothing was changed then.
var (
	ErrNotFound = errors.New("there is no such recipe or publisher in the catalog")
	ErrExists   = errors.New("the name is taken")
	ErrNotOwner = errors.New("the recipe belongs to somebody else")
	// ErrTakenBack says that an administrator took a recipe from those who run it.
	// Its owner does not bring it back.
	ErrTakenBack = errors.New("an administrator took the recipe back")
	// ErrChanged says that If-Match names another revision than the one that
	// is there.
	ErrChanged = errors.New("the revision is another one now")
	// ErrNoPublisher says that a recipe cannot be given to somebody who is
	// neither a publisher nor SeedOwner.
	ErrNoPublisher = errors.New("there is no such publisher")
	ErrTooManyKeys = errors.New("the publisher has as many keys as there may be")
)

// AnyRevision is the If-Match that every revision obeys.
const AnyRevision = "*"

// ManagedError says that another field manager than the catalog's holds what
// would be written: somebody keeps the object with other tools.
type ManagedError struct {
	// By are the field managers, sorted.
	By []string
}

// Error implements error.
func (e *ManagedError) Error() string {
	return "what would be written is held by the field managers " + strings.Join(e.By, ", ")
}

// InvalidError says that the catalog does not take what would be written.
type InvalidError struct {
	Problems []Problem
}

// Error implements error.
func (e *InvalidError) Error() string { return messageOf(e.Problems) }

// Draft is what a publisher or the seeder writes. It is the whole of their part
// of the object: what it lacks is removed.
type Draft struct {
	Name string
	// Owner is the publisher's id, or SeedOwner.
	Owner  string
	Recipe recipe.Recipe
	// Source is the recipe as its author wrote it, as JSON, where it is signed.
	// It is ignored for a recipe that is not.
	Source     string
	Deprecated *Deprecation
}

// Replacement replaces a publisher's part of a recipe, or is the first.
type Replacement struct {
	Name string
	// Owner is whose the recipe must be.
	Owner string
	// IfMatch is a revision that must match, or AnyRevision. It is ignored where
	// the recipe is to be created.
	IfMatch string
	// DryRun says that nothing is to be stored.
	DryRun bool
	// Draft returns what to write over what is there: the zero Entry where nothing
	// is, and what its owner left where they deleted it. It is asked again each time
	// that another writer was quicker; its errors are those of the write.
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

// BrokenRecipe is a file of the source that the catalog does not take.
type BrokenRecipe struct {
	// File is the path within the source.
	File string `json:"file"`
	// Name is the recipe's, where that can be told.
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

// ChangeErrors are why some changes of a seed were not made, by name. The others
// were.
type ChangeErrors []*ChangeError

// Error implements error. It names the first ones.
func (e ChangeErrors) Error() string {
	lines := make([]string, 0, maxProblems+1)
	for i, one := range e {
		if i == maxProblems {
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

// Publisher is who may write recipes, as administrators see it. It holds neither
// a key nor a key's hash.
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

// PublisherKey is what may be told of a publisher's key.
type PublisherKey struct {
	ID        string     `json:"id"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	// LastUsedAt is to within some minutes.
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
	// ExpiresAt is nil for a key that does not expire, RevokedAt for one that
	// was not withdrawn.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}
