// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

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
	// Recipe is what to write; only with Create and Update.
	Recipe recipe.Recipe `json:"-"`
	// Source is the recipe as its author wrote it, where that is signed. Diff
	// does not know it; whoever read the recipe fills it in.
	Source string `json:"-"`
	// Reason says why, where that is not plain.
	Reason string `json:"reason,omitempty"`
}

// ReasonVanished is why the seeder deprecates a recipe. Only a recipe that it
// deprecated itself does it take back.
const ReasonVanished = "the recipe is no longer in the catalog's source"

// Reasons of other changes.
const (
	reasonForeign = "the name belongs to somebody else than the seeder"
	reasonBack    = "the recipe is in the catalog's source again"
	reasonTwice   = "the source has this recipe more than once; the first counts"
)

// Diff returns what brings the catalog in line with a seed's source, by name.
// Only recipes that the seeder owns are touched, and none is ever deleted: one
// that the source does not have anymore is deprecated. broken are the names of
// those that the source has and that cannot be used; they stay as they are.
func Diff(source []recipe.Recipe, current []Entry, broken ...string) []Change {
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
	for _, r := range source {
		if listed[r.ID] {
			changes = append(changes, Change{Name: r.ID, Kind: None, Reason: reasonTwice})
			continue
		}
		listed[r.ID], seen[r.ID] = true, true
		e, there := kept[r.ID]
		changes = append(changes, change(r, e, there))
	}
	for _, e := range current {
		if e.Owner == SeedOwner && e.Deprecated == nil && !seen[e.Name] {
			changes = append(changes, Change{Name: e.Name, Kind: Deprecate, Reason: ReasonVanished})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return changes
}

func change(r recipe.Recipe, e Entry, there bool) Change {
	switch {
	case !there || e.Vacant():
		return Change{Name: r.ID, Kind: Create, Recipe: r}
	case e.Owner != SeedOwner:
		return Change{Name: r.ID, Kind: None, Reason: reasonForeign}
	case e.Deprecated != nil && e.Deprecated.Reason == ReasonVanished:
		return Change{Name: r.ID, Kind: Update, Recipe: r, Reason: reasonBack}
	case !Same(r, written(e)):
		return Change{Name: r.ID, Kind: Update, Recipe: r}
	}
	return Change{Name: r.ID, Kind: None}
}

// Vacant reports whether there is an overlay alone, which waits for its first
// recipe.
func (e Entry) Vacant() bool {
	return e.Owner == "" && e.Recipe.ID == "" && e.Pending == nil && len(e.Versions) == 0
}

// written returns what the object says.
func written(e Entry) recipe.Recipe {
	if e.Pending != nil {
		return *e.Pending
	}
	return e.Recipe
}

// Same reports whether two recipes say the same. The order of the members of an
// object does not count.
func Same(a, b recipe.Recipe) bool {
	return SourceOf(a) == SourceOf(b) || bytes.Equal(sorted(a), sorted(b))
}

// sorted returns a recipe as JSON with sorted keys.
func sorted(r recipe.Recipe) []byte {
	b, err := json.Marshal(ToObject(r))
	if err != nil {
		return nil // A recipe holds nothing that JSON has not.
	}
	return b
}
