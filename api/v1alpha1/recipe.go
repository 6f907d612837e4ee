// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strconv"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
)

// Recipe says what an MCP server is and how to install, reach and use it. Its
// fields are those of the version 2 recipe format.
type Recipe struct {
	recipefile.Recipe `json:",inline"`
}

// object is a recipe in the API: localOnly is an object and costPerCall a text, which a
// schema can describe. The API server sorts the members of environments and headers.
type object struct {
	plain

	Description string                       `json:"description,omitempty"`
	LocalOnly   localOnly                    `json:"localOnly,omitzero"`
	Transports  []recipefile.RecipeTransport `json:"transports,omitempty"`
	Metadata    metadata                     `json:"metadata,omitzero"`
}

type (
	plain     recipefile.Recipe
	localOnly recipefile.RecipeLocalOnly
	metadata  struct {
		recipefile.RecipeMetadata

		CostPerCall string `json:"costPerCall,omitempty"`
	}
)

// stored is an object as it is written: a schema has no null, and a file may have a workflow
// without steps.
type (
	stored struct {
		object

		Skill *skill `json:"skill,omitempty"`
	}
	skill struct {
		recipefile.RecipeSkill

		Workflows []workflow `json:"workflows,omitempty"`
	}
	workflow struct {
		recipefile.RecipeWorkflow

		Steps []string `json:"steps,omitempty"`
	}
)

// MarshalJSON implements json.Marshaler.
func (r Recipe) MarshalJSON() ([]byte, error) {
	o := stored{object: object{
		plain: plain(r.Recipe), Description: r.Description, LocalOnly: localOnly(r.LocalOnly), Transports: r.Transports,
		Metadata: metadata{RecipeMetadata: r.Metadata},
	}}
	if r.Skill != nil {
		o.Skill = &skill{RecipeSkill: *r.Skill}
		for _, w := range r.Skill.Workflows {
			o.Skill.Workflows = append(o.Skill.Workflows, workflow{w, w.Steps})
		}
	}
	if cost := r.Metadata.CostPerCall; cost != 0 {
		o.Metadata.CostPerCall = strconv.FormatFloat(cost, 'f', -1, 64)
	}
	return json.Marshal(o)
}

// UnmarshalJSON implements json.Unmarshaler. Values that do not fit are left out: the
// API server has checked them, and one recipe must not keep a program from reading all.
func (r *Recipe) UnmarshalJSON(b []byte) error {
	doc, err := jsondoc.Parse(b)
	if err != nil {
		return err
	}
	var o object
	_ = jsondoc.Decode(doc, &o)
	r.Recipe = recipefile.Recipe(o.plain)
	r.Description, r.LocalOnly, r.Transports, r.Metadata = o.Description, recipefile.RecipeLocalOnly(o.LocalOnly), o.Transports, o.Metadata.RecipeMetadata
	if len(r.LocalOnly.Tools) > 0 {
		r.LocalOnly.All = false
	}
	r.Metadata.CostPerCall, _ = strconv.ParseFloat(o.Metadata.CostPerCall, 64)
	return nil
}

// DeepCopyInto shares what the recipe refers to, which nobody changes.
func (r *Recipe) DeepCopyInto(out *Recipe) { *out = *r }
