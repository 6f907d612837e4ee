// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func TestDiffSaysWhatASeedDoes(t *testing.T) {
	changed, foreign, waiting := catalogtest.Recipe("changed"), catalogtest.Accepted(catalogtest.Recipe("foreign"), 1), catalogtest.Accepted(catalogtest.Recipe("waiting"), 1)
	changed.Description = "Else"
	foreign.Owner = "acme"
	refused := catalogtest.Recipe("waiting")
	refused.Description = "Refused"
	waiting.Pending = &refused
	deprecated := func(name, reason string) catalog.Entry {
		e := catalogtest.Accepted(catalogtest.Recipe(name), 1)
		e.Deprecated = &catalog.Deprecation{Reason: reason}
		return e
	}
	var source []catalog.Draft
	for _, r := range []recipe.Recipe{
		catalogtest.Recipe("new"), catalogtest.Recipe("same"), changed, catalogtest.Recipe("foreign"), refused, catalogtest.Recipe("back"), catalogtest.Recipe("withdrawn"), catalogtest.Recipe("new"),
		catalogtest.Recipe("overlaid"),
	} {
		source = append(source, catalog.Draft{Name: r.ID, Recipe: r, Source: "signed " + r.ID})
	}
	current := []catalog.Entry{
		catalogtest.Accepted(catalogtest.Recipe("same"), 1), catalogtest.Accepted(catalogtest.Recipe("changed"), 1), foreign, waiting,
		deprecated("back", catalog.ReasonVanished), deprecated("withdrawn", "unsafe"),
		catalogtest.Accepted(catalogtest.Recipe("vanished"), 1), deprecated("long-gone", catalog.ReasonVanished), catalogtest.Accepted(catalogtest.Recipe("broken"), 1),
		{Name: "overlaid", Quality: &catalog.Overlay{Badge: "gold"}},
	}
	want := []catalog.Change{
		{Name: "back", Kind: catalog.Update, Reason: catalog.ReasonBack},
		{Name: "changed", Kind: catalog.Update},
		{Name: "foreign", Kind: catalog.None, Reason: catalog.ReasonForeign},
		{Name: "new", Kind: catalog.Create},
		{Name: "new", Kind: catalog.None, Reason: catalog.ReasonTwice},
		{Name: "overlaid", Kind: catalog.Create},
		{Name: "same", Kind: catalog.None},
		{Name: "vanished", Kind: catalog.Deprecate, Reason: catalog.ReasonVanished},
		{Name: "waiting", Kind: catalog.None},
		{Name: "withdrawn", Kind: catalog.None},
	}
	got := catalog.Diff(source, current, "broken")
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(catalog.Change{}, "Recipe", "Source")); diff != "" {
		t.Error(diff)
	}
	for _, c := range got {
		written := c.Kind == catalog.Create || c.Kind == catalog.Update
		if written != (c.Recipe.ID == c.Name) || written != (c.Source == "signed "+c.Name) {
			t.Errorf("%s %s has the recipe %q and the text %q", c.Kind, c.Name, c.Recipe.ID, c.Source)
		}
	}
}
