// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

// found is the content of a source.
type found struct {
	drafts []catalog.Draft
	// files are the recipes' paths, by name.
	files  map[string]string
	broken []catalog.BrokenRecipe
	// kept are the names of recipes in the source that cannot be used.
	kept []string
}

// checker holds the data that files are checked against.
type checker struct {
	store Store
	now   time.Time
}

// read reads and checks all recipes of a source.
func (c checker) read(ctx context.Context, s Source) (*found, error) {
	f := &found{files: map[string]string{}}
	if err := s.Each(ctx, func(file File) { f.add(file, c) }); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *found) add(file File, c checker) {
	if file.Problem != "" {
		f.refuse(file, "", catalog.Problem{Code: catalog.CodeSyntax, Message: file.Problem})
		return
	}
	d, problems := c.parse(file)
	r := d.Recipe
	if len(problems) > 0 {
		f.refuse(file, r.ID, problems...)
		return
	}
	if first, twice := f.files[r.ID]; twice {
		f.refuseBoth(r.ID, first, file)
		return
	}
	f.files[r.ID] = file.Path
	f.drafts = append(f.drafts, catalog.Draft{Name: r.ID, Owner: catalog.SeedOwner, Recipe: r, Source: d.Signed()})
}

// refuse notes a file that cannot be used. Neither the name of its path nor the
// name in its content counts as removed.
func (f *found) refuse(file File, id string, problems ...catalog.Problem) {
	f.broken = append(f.broken, catalog.BrokenRecipe{File: file.Path, Name: file.Name, Problems: problems})
	f.kept = append(f.kept, file.Name)
	if id != "" {
		f.kept = append(f.kept, id)
	}
}

// refuseBoth notes two files of one recipe, since it is unclear which one
// counts. With three files, the first is noted already.
func (f *found) refuseBoth(id, first string, second File) {
	problem := catalog.Problem{Field: "id", Code: catalog.CodeName, Message: "is in the source more than once: " + first + " and " + second.Path}
	before := len(f.drafts)
	f.drafts = slices.DeleteFunc(f.drafts, func(d catalog.Draft) bool { return d.Name == id })
	if len(f.drafts) < before {
		f.refuse(File{Path: first, Name: id}, "", problem)
	}
	f.refuse(second, id, problem)
}

// parse checks a file as the catalog checks published recipes.
func (c checker) parse(file File) (recipe.Document, []catalog.Problem) {
	checks := validate.Checks{Now: c.now}
	// The file itself says which keys its signature needs and which version it
	// follows.
	d, _, err := recipe.Read(file.Content)
	if err != nil {
		return recipe.Document{}, []catalog.Problem{{Code: catalog.CodeSyntax, Message: err.Error()}}
	}
	if d.Format != recipe.ServerJSON {
		checks.Name = file.Name // The registry's names have another form.
	}
	if s := d.Recipe.Signature; s != nil {
		p, _ := c.store.Publisher(s.PublisherID)
		checks.PublicKeys = catalog.PublicKeys(p.PublicKeys)
	}
	if e, there := c.store.Current().Entry(d.Recipe.ID); there && e.Owner == catalog.SeedOwner && len(e.Versions) > 0 {
		checks.Previous = &e.Versions[0]
	}
	return validate.Parse(file.Content, checks)
}

// report lists the changes, by name.
func (f *found) report(changes []catalog.Change) catalog.SeedReport {
	r := catalog.SeedReport{Counts: map[catalog.ChangeKind]int{}, Changes: []catalog.Change{}, Broken: f.broken}
	for _, c := range changes {
		r.Counts[c.Kind]++
		if c.Kind != catalog.None || c.Reason != "" {
			r.Changes = append(r.Changes, c)
		}
	}
	slices.SortStableFunc(r.Broken, func(a, b catalog.BrokenRecipe) int { return strings.Compare(a.File, b.File) })
	return r
}
