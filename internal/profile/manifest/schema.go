// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/config/crd"
)

// definition is a schema of a CustomResourceDefinition.
type definition struct{ spec.Schema }

// schema returns that of profiles. It is read when it is first needed: most processes that link
// this package never try a profile.
var schema = sync.OnceValue(func() definition { return readSchema(crd.BridgeProfile) })

// readSchema reads the schema of the only version of a CustomResourceDefinition, which is a part
// of the program.
func readSchema(text []byte) definition {
	var found struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	var d definition
	err := yaml.Unmarshal(text, &found)
	if err == nil && len(found.Spec.Versions) != 1 {
		err = errors.New("it has another number of versions than one")
	}
	if err == nil {
		err = json.Unmarshal(found.Spec.Versions[0].Schema.OpenAPIV3Schema, &d.Schema)
	}
	if err != nil {
		panic("read the CustomResourceDefinition of BridgeProfiles: " + err.Error())
	}
	return d
}

// complete fills in the defaults of an object, and returns which of its fields do not exist.
func (d definition) complete(object map[string]any) []Problem {
	var problems []Problem
	complete(&problems, "", &d.Schema, object)
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return problems
}

func complete(problems *[]Problem, at string, s *spec.Schema, value any) {
	switch v := value.(type) {
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for i := range v {
			complete(problems, fmt.Sprintf("%s[%d]", at, i), s.Items.Schema, v[i])
		}
	case map[string]any:
		completeObject(problems, at, s, v)
	}
}

func completeObject(problems *[]Problem, at string, s *spec.Schema, object map[string]any) {
	for name, field := range s.Properties {
		if _, set := object[name]; !set && field.Default != nil {
			object[name] = runtime.DeepCopyJSONValue(field.Default)
		}
	}
	for name, of := range object {
		path := strings.TrimPrefix(at+"."+name, ".")
		if field, known := s.Properties[name]; known {
			complete(problems, path, &field, of)
		} else if len(s.Properties) > 0 {
			*problems = append(*problems, Problem{path, "There is no such field. There are " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ") + "."})
		}
	}
}

// validate returns what the schema does not accept of an object.
func (d definition) validate(object map[string]any) []Problem {
	var problems []Problem
	for _, err := range validate.NewSchemaValidator(&d.Schema, nil, "", strfmt.Default).Validate(object).Errors {
		var field string
		text := err.Error()
		if fault, ok := errors.AsType[*openapi.Validation](err); ok {
			field = strings.TrimPrefix(fault.Name, ".")
			text = strings.TrimPrefix(strings.TrimPrefix(text, fault.Name), " in "+fault.In)
		}
		problems = append(problems, Problem{field, "It" + strings.Replace(text, " should ", " must ", 1) + "."})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return problems
}
