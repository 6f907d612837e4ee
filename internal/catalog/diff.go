// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// ChangeKind is what a seed does to a recipe.
type ChangeKind string

// The kinds.
const (
	Create    ChangeKind = "create"
	Update    ChangeKind = "update"
	Deprecate ChangeKind = "deprecate"
	None      ChangeKind = "none"
)

// Change is what a seed does to one recipe.
type Change struct {
	Name string     `json:"name"`
	Kind ChangeKind `json:"change"`
	// Recipe is the recipe to write; only with Create and Update.
	Recipe recipe.Recipe `json:"-"`
	// Source is the recipe as its author wrote it, if that is signed.
	Source string `json:"-"`
	// Reason says why, unless that is obvious.
	Reason string `json:"reason,omitempty"`
}

// ReasonVanished is why the seeder deprecates a recipe. The seeder ends only
// deprecations with this reason.
const ReasonVanished = "the recipe is no longer in the catalog's source"

// Reasons of other changes.
const (
	ReasonForeign = "the name belongs to somebody else than the seeder"
	ReasonBack    = "the recipe is in the catalog's source again"
	ReasonTwice   = "the source has this recipe more than once; the first counts"
)

// Diff returns the changes that bring the catalog in line with a seed's source,
// by name. It changes only recipes that the seeder owns, and deletes none: a
// recipe that the source no longer has is deprecated. broken are the names of
// recipes in the source that cannot be used; they stay as they are.
func Diff(source []Draft, current []Entry, broken ...string) []Change {
	kept := make(map[string]Entry, len(current))
	for _, e := range current {
		kept[e.Name] = e
	}
	seen := make(map[string]bool, len(source)+len(broken))
	for _, name := range broken {
		seen[name] = true
	}
	var changes []Change
	listed := make(map[string]bool, len(source))
	for _, d := range source {
		if listed[d.Name] {
			changes = append(changes, Change{Name: d.Name, Kind: None, Reason: ReasonTwice})
			continue
		}
		listed[d.Name], seen[d.Name] = true, true
		e, there := kept[d.Name]
		changes = append(changes, change(d, e, there))
	}
	for _, e := range current {
		if e.Owner == SeedOwner && e.Deprecated == nil && !seen[e.Name] {
			changes = append(changes, Change{Name: e.Name, Kind: Deprecate, Reason: ReasonVanished})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return changes
}

func change(d Draft, e Entry, there bool) Change {
	c := Change{Name: d.Name, Kind: Update, Recipe: d.Recipe, Source: d.Source}
	switch {
	case !there || e.Vacant():
		c.Kind = Create
	case e.Owner != SeedOwner:
		return Change{Name: d.Name, Kind: None, Reason: ReasonForeign}
	case e.Deprecated != nil && e.Deprecated.Reason == ReasonVanished:
		c.Reason = ReasonBack
	case Same(d.Recipe, written(e)):
		return Change{Name: d.Name, Kind: None}
	}
	return c
}

// Vacant reports whether the entry is only an overlay, which waits for its
// first recipe.
func (e Entry) Vacant() bool {
	return e.Owner == "" && e.Recipe.ID == "" && e.Pending == nil && len(e.Versions) == 0
}

// written returns the recipe of the object.
func written(e Entry) recipe.Recipe {
	if e.Pending != nil {
		return *e.Pending
	}
	return e.Recipe
}

// Same reports whether two recipes are the same. The order of the members of an
// object does not count.
func Same(a, b recipe.Recipe) bool {
	return SourceOf(a) == SourceOf(b) || bytes.Equal(sorted(a), sorted(b))
}

// sorted returns a recipe as JSON with sorted keys.
func sorted(r recipe.Recipe) []byte {
	doc, err := jsondoc.Encode(r)
	if err != nil {
		return nil // A recipe holds nothing that JSON cannot express.
	}
	return doc.AppendCanonical(nil)
}
