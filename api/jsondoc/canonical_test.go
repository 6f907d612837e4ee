// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheSameValueIsTheSameText(t *testing.T) {
	tests := map[string][]string{
		"names in any order":          {`{"a":1,"b":{"c":2,"d":3}}`, `{ "b": {"d":3, "c":2}, "a": 1 }`},
		"escapes or not":              {`"é\/<"`, `"\u00e9/\u003c"`},
		"numbers written differently": {`100`, `1e2`, `100.0`, `1.0E+2`, `1000e-1`},
		"small numbers":               {`0.01`, `1e-2`, `0.010`, `10e-3`},
		"as deep as may be": {
			strings.Repeat("[", 64) + "1" + strings.Repeat("]", 64),
			strings.Repeat("[", 64) + "1.0" + strings.Repeat(" ]", 64),
		},
		"zeros":           {`0`, `-0`, `0.0`, `0e5`},
		"an empty object": {`{}`, `{ }`},
	}
	for name, same := range tests {
		t.Run(name, func(t *testing.T) {
			want := must.Value(CanonicalExact([]byte(same[0])))(t)
			for _, other := range same[1:] {
				if got, err := CanonicalExact([]byte(other)); err != nil || got != want {
					t.Errorf("%s is %s, %v; %s is %s", other, got, err, same[0], want)
				}
			}
		})
	}
}

func TestDifferentValuesAreDifferentTexts(t *testing.T) {
	seen := map[string]string{}
	for _, v := range []string{
		`1`, `-1`, `10`, `0.1`, `"1"`, `[1]`, `{"1":1}`, `true`, `false`, `null`, `""`, `[]`, `{}`, `[[]]`, `[1,2]`, `[2,1]`,
		`9007199254740993`, `9007199254740992`, `9007199254740993.1`, `1e400`, `1e401`,
		`0.1000000000000000055511151231257827`, `"a,b"`, `["a","b"]`, `{"a":null}`, `{"a":""}`, `[null]`,
	} {
		text, err := CanonicalExact([]byte(v))
		if err != nil {
			t.Errorf("%s: %v", v, err)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s are both %s", v, other, text)
		}
		seen[text] = v
	}
}

func TestWhatCannotBeComparedIsRefused(t *testing.T) {
	tests := map[string]string{
		"no JSON":                                        `{`,
		"two values":                                     `1 2`,
		"a name that stands twice":                       `{"a":1,"a":2}`,
		"the same name with an escape":                   `{"a":1,"\u0061":2}`,
		"half of a surrogate pair":                       `"\ud800"`,
		"bytes that are no text":                         "\"\xff\"",
		"a number out of all bounds":                     `1e99999999999999999999`,
		"nested without end":                             strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"nested one level too deep":                      strings.Repeat("[", 65) + "1" + strings.Repeat("]", 65),
		"nothing":                                        ` `,
		"what readers put in place of text that is none": `"\ufffd"`,
	}
	for name, v := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := CanonicalExact([]byte(v)); err == nil {
				t.Errorf("%.40s is %.40s", v, got)
			}
		})
	}
}

func FuzzCanonicalExact(f *testing.F) {
	for _, seed := range []string{`{"b":[1.50,"x",null],"a":true}`, `1e5`, `-0.0`, `"\u00e9"`, `{"a":{"a":{}}}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		text, err := CanonicalExact(v)
		if err != nil {
			return
		}
		again, err := CanonicalExact([]byte(text))
		if err != nil || again != text {
			t.Errorf("%q is %q, which is %q, %v", v, text, again, err)
		}
	})
}
