// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// schema is a part of a CRD's schema.
type schema struct {
	Description          string            `json:"description"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
}

// bare returns the fields below a path that have no description.
func (s schema) bare(path string) []string {
	var fields []string
	for name, field := range s.Properties {
		below := path + "." + name
		if field.Description == "" && below != ".metadata" {
			fields = append(fields, below)
		}
		fields = append(fields, field.bare(below)...)
	}
	for _, element := range []*schema{s.Items, s.AdditionalProperties} {
		if element != nil {
			fields = append(fields, element.bare(path+"[]")...)
		}
	}
	return fields
}

func TestNoFieldIsWithoutAWordInKubectlExplain(t *testing.T) {
	files := must.Value(filepath.Glob(filepath.Join(Root, "config/crd/bases/*.yaml")))(t)
	if len(files) < 9 {
		t.Fatalf("found the CRDs %v", files)
	}
	for _, file := range files {
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		must.Succeed(t, yaml.Unmarshal(must.Value(os.ReadFile(file))(t), &crd))
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			if len(root.Properties) < 4 {
				t.Errorf("%s has the fields %v alone", file, root.Properties)
			}
			for _, field := range root.bare("") {
				t.Errorf("%s: the field %s has no description: write a comment above it in api/v1alpha1, then run make generate", filepath.Base(file), field)
			}
		}
	}
}
