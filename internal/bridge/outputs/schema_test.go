// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package outputs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// doubling is a schema whose values double with each of n references.
func doubling(n int) string {
	var defs strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&defs, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return `{"type":"object","$ref":"#/$defs/d0","$defs":{` + defs.String() + fmt.Sprintf(`"d%d":{"required":["n"]}}}`, n)
}

// TestNoSchemaTakesLongToCompare: a server may list any schema.
func TestNoSchemaTakesLongToCompare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema   string
		compared bool
	}{
		"properties":                     {`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, true},
		"draft 7":                        {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["n"]}`, true},
		"definitions":                    {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"}},"required":["n"],"$defs":{"a/b":{"type":"string"}}}`, true},
		"a property that is called $ref": {`{"type":"object","properties":{"$ref":{"type":"string"}},"required":["n"]}`, true},
		"no type":                        {`{"required":["n"]}`, true},
		"a few references":               {doubling(4), true},
		"nothing":                        {``, false},
		"no schema":                      {`5`, false},
		"a boolean":                      {`true`, false},
		"a text":                         {`{"type":"string"}`, false},
		"several types":                  {`{"type":["object","null"]}`, false},
		"references without an end":      {`{"type":"object","$ref":"#"}`, false},
		"a reference to itself":          {`{"type":"object","properties":{"a":{"$ref":"#"}}}`, false},
		"references that double":         {doubling(40), false},
		"a reference elsewhere":          {`{"type":"object","$ref":"https://example.com/a.json"}`, false},
		"a reference to nothing":         {`{"type":"object","$ref":"#/$defs/none"}`, false},
		"a reference by name":            {`{"type":"object","$ref":"#a","$defs":{"a":{"$anchor":"a"}}}`, false},
		"a dynamic reference":            {`{"type":"object","$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`, false},
		"another base":                   {`{"type":"object","$id":"https://example.com/a.json"}`, false},
		"a pattern that is none":         {`{"type":"object","properties":{"a":{"pattern":"("}}}`, false},
		"a large pattern":                {`{"type":"object","properties":{"a":{"pattern":"(.{1,1000})x(.{1,900})y"}}}`, false},
		"many values":                    {`{"type":"object","enum":[` + strings.Repeat(`1,`, 1000) + `1]}`, false},
		"a deep one":                     {strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat(`}`, 2000), false},
		"a large one":                    {`{"type":"object","description":"` + strings.Repeat("a", 70_000) + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(json.RawMessage(tt.schema))
			if (s != nil) != tt.compared {
				t.Fatalf("it is compared: %t", s != nil)
			}
			if s == nil {
				return
			}
			for value, want := range map[string]bool{`{"n":1}`: true, `{}`: false} {
				if fit, known := s.fits(json.RawMessage(value)); fit != want || !known {
					t.Errorf("%s fits: %t, known: %t", value, fit, known)
				}
			}
			if _, known := s.fits(json.RawMessage(`{"n":"` + strings.Repeat("a", 70_000) + `"}`)); known {
				t.Error("a large value is compared")
			}
		})
	}
}

// FuzzCompare compares what anybody may write.
func FuzzCompare(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":["string","null"],"pattern":"^a"},"b":{"items":[{"const":1},true],"uniqueItems":true}},"additionalProperties":false}`,
		`{"oneOf":[{"required":["a"]},{"minProperties":2}],"if":{},"then":{},"else":false,"dependencies":{"a":["b"]},"unevaluatedProperties":false}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"prefixItems":[{"enum":[1,"a",null]}],"contains":{},"minContains":1,"multipleOf":0.5}}}`,
	} {
		f.Add(schema, `{"a":"a","b":[1,2]}`)
	}
	f.Fuzz(func(_ *testing.T, schema, value string) {
		if s := compile(json.RawMessage(schema)); s != nil {
			s.fits(json.RawMessage(value))
		}
	})
}
