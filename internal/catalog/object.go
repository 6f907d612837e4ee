// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// SourceOf returns a recipe as the JSON of a recipe file.
func SourceOf(r recipe.Recipe) string {
	b, err := json.Marshal(r)
	if err != nil {
		return "" // A recipe holds nothing that JSON cannot express.
	}
	return string(b)
}

// FileOf returns the recipe file: source if that is signed, else the recipe as the
// program writes it.
func FileOf(r recipe.Recipe, source string) string {
	if source != "" && r.Signature != nil {
		return source
	}
	return SourceOf(r)
}

// ReadVersion reads an accepted version of an object. The API keeps it as text, whose bytes
// are signed and have a digest: nothing else decodes status.versions.
func ReadVersion(v v1alpha1.RecipeVersion) (Version, jsondoc.Value, error) {
	r, doc, err := ReadSource(v.Recipe)
	return Version{Version: v.Version, Digest: v.Digest, At: v.AcceptedAt.Time, Recipe: r, Source: v.Recipe, Withdrawn: v.Withdrawn}, doc, err
}

// ReadSource returns the recipe in the JSON of a recipe file of version 2. Its
// errors concern only the form: it checks no rules.
func ReadSource(source string) (recipe.Recipe, jsondoc.Value, error) {
	doc, err := jsondoc.Parse([]byte(source))
	if err != nil {
		return recipe.Recipe{}, doc, fmt.Errorf("the recipe %w", err)
	}
	var r recipe.Recipe
	for _, p := range jsondoc.Decode(doc, &r) {
		if !p.Unknown {
			return recipe.Recipe{}, doc, errors.New(p.String())
		}
	}
	return r, doc, nil
}
