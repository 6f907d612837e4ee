// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// objectForm is a recipe in the API's form: members that the API cannot express
// in the form of a recipe file hide the file's members of that name.
type objectForm struct {
	recipe.Recipe
	LocalOnly v1alpha1.RecipeLocalOnly `json:"localOnly,omitzero"`
	Metadata  objectMetadata           `json:"metadata,omitzero"`
}

type objectMetadata struct {
	recipe.Metadata
	CostPerCall string `json:"costPerCall,omitempty"`
}

// ToObject returns a recipe in the API's form. The order of environments and
// headers is lost.
func ToObject(r recipe.Recipe) *v1alpha1.Recipe {
	form := objectForm{
		Recipe:    r,
		LocalOnly: v1alpha1.RecipeLocalOnly{All: r.LocalOnly.All, Tools: r.LocalOnly.Tools},
		Metadata:  objectMetadata{Metadata: r.Metadata},
	}
	if cost := r.Metadata.CostPerCall; cost != 0 {
		form.Metadata.CostPerCall = strconv.FormatFloat(cost, 'f', -1, 64)
	}
	o := &v1alpha1.Recipe{}
	if b, err := json.Marshal(form); err == nil {
		// A recipe holds nothing that JSON cannot express, and numbers that are
		// too large for the API are left out.
		_ = json.Unmarshal(b, o)
	}
	return o
}

// FromObject returns a recipe in the form of files.
func FromObject(o *v1alpha1.Recipe) (recipe.Recipe, error) {
	doc, err := jsondoc.Encode(o)
	if err != nil {
		return recipe.Recipe{}, fmt.Errorf("encode the recipe: %w", err)
	}
	if o.LocalOnly != nil {
		local, err := jsondoc.Encode(recipe.LocalOnly{All: o.LocalOnly.All, Tools: o.LocalOnly.Tools})
		if err != nil {
			return recipe.Recipe{}, fmt.Errorf("encode localOnly: %w", err)
		}
		doc = doc.With("localOnly", local)
	}
	if doc, err = withCost(doc); err != nil {
		return recipe.Recipe{}, err
	}
	var r recipe.Recipe
	for _, p := range jsondoc.Decode(doc, &r) {
		return recipe.Recipe{}, errors.New(p.String())
	}
	return r, nil
}

// withCost writes the cost of a call as a number.
func withCost(doc jsondoc.Value) (jsondoc.Value, error) {
	metadata, _ := doc.Get("metadata")
	cost, there := metadata.Get("costPerCall")
	if !there {
		return doc, nil
	}
	f, err := strconv.ParseFloat(cost.Text, 64)
	if err != nil {
		return doc, errors.New("metadata.costPerCall: must be a decimal number")
	}
	number := jsondoc.Value{Kind: jsondoc.Number, Text: strconv.FormatFloat(f, 'f', -1, 64)}
	return doc.With("metadata", metadata.With("costPerCall", number)), nil
}

// SourceOf returns a recipe as the JSON of a recipe file.
func SourceOf(r recipe.Recipe) string {
	b, err := json.Marshal(r)
	if err != nil {
		return "" // A recipe holds nothing that JSON cannot express.
	}
	return string(b)
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
