// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func TestDiffSaysWhatASeedDoes(t *testing.T) {
	changed, foreign, waiting := valid("changed"), accepted(valid("foreign"), 1), accepted(valid("waiting"), 1)
	changed.Description = "Else"
	foreign.Owner = "acme"
	refused := valid("waiting")
	refused.Description = "Refused"
	waiting.Pending = &refused
	deprecated := func(name, reason string) Entry {
		e := accepted(valid(name), 1)
		e.Deprecated = &Deprecation{Reason: reason}
		return e
	}
	source := []recipe.Recipe{
		valid("new"), valid("same"), changed, valid("foreign"), refused, valid("back"), valid("withdrawn"), valid("new"),
		valid("overlaid"),
	}
	current := []Entry{
		accepted(valid("same"), 1), accepted(valid("changed"), 1), foreign, waiting,
		deprecated("back", ReasonVanished), deprecated("withdrawn", "unsafe"),
		accepted(valid("vanished"), 1), deprecated("long-gone", ReasonVanished), accepted(valid("broken"), 1),
		{Name: "overlaid", Quality: &Overlay{Badge: "gold"}},
	}
	want := []Change{
		{Name: "back", Kind: Update, Reason: reasonBack},
		{Name: "changed", Kind: Update},
		{Name: "foreign", Kind: None, Reason: reasonForeign},
		{Name: "new", Kind: Create},
		{Name: "new", Kind: None, Reason: reasonTwice},
		{Name: "overlaid", Kind: Create},
		{Name: "same", Kind: None},
		{Name: "vanished", Kind: Deprecate, Reason: ReasonVanished},
		{Name: "waiting", Kind: None},
		{Name: "withdrawn", Kind: None},
	}
	got := Diff(source, current, "broken")
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Change{}, "Recipe")); diff != "" {
		t.Error(diff)
	}
	for _, c := range got {
		if written := c.Kind == Create || c.Kind == Update; written != (c.Recipe.ID == c.Name) {
			t.Errorf("%s %s has the recipe %q", c.Kind, c.Name, c.Recipe.ID)
		}
	}
}
