// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		in, want string
		err      string
	}{
		"the order and the numbers are kept":     {`{"b": 1.50, "a": [1e2, true, null, "x"], "c": {}}`, `{"b":1.50,"a":[1e2,true,null,"x"],"c":{}}`, ""},
		"a pair of surrogates is a character":    {`"\ud83d\ude00 \\ud83d"`, `"😀 \\ud83d"`, ""},
		"a name twice in one object":             {`{"a":1,"b":{"c":1,"c":2}}`, "", `name "c" twice`},
		"names that differ in case are two":      {`{"a":1,"A":2}`, `{"a":1,"A":2}`, ""},
		"half a surrogate":                       {`{"a":"\ud83d"}`, "", "half of a character"},
		"the other half":                         {`"\ude00"`, "", "half of a character"},
		"two first halves":                       {`"\ud83d\ud83d"`, "", "half of a character"},
		"a half before another escape":           {`"\ud83d\n    "`, "", "half of a character"},
		"not UTF-8":                              {"\"\xff\"", "", "UTF-8"},
		"a number that no double holds":          {`[1e999]`, "", "out of range"},
		"deep nesting":                           {strings.Repeat("[", 100) + strings.Repeat("]", 100), "", "nested deeper"},
		"nothing":                                {"", "", "unexpected end"},
		"something after the value":              {`{} {}`, "", "line 1"},
		"a comment":                              {"{\n  // note\n}", "", "line 2"},
		"an error does not quote the value near": {`{"token": s3cr3t}`, "", "line 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(tt.in))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cr3t") {
					t.Fatalf("error = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := v.MarshalJSON()
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

type inner struct {
	URL   string         `json:"url"`
	Ports []int          `json:"ports"`
	Any   Value          `json:"any"`
	Limit map[string]int `json:"limit"`
}

type document struct {
	Name    string           `json:"name"`
	On      *bool            `json:"on"`
	Share   float64          `json:"share"`
	Entries Ordered[inner]   `json:"entries"`
	Raw     *json.RawMessage `json:"-"`
	Embedded
}

// Embedded is part of document.
type Embedded struct {
	Extra string `json:"extra"`
}

func TestDecodeFindsAllThatDoesNotFit(t *testing.T) {
	v, err := Parse([]byte(`{"name":1,"Name":"x","share":"y","on":true,"extra":"e","entries":{"z":{"url":null,"ports":[1,1.5,"a"],"any":[1],"limit":{"a":1,"b":"c"}},"a":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	var got []string
	for _, p := range Decode(v, &d) {
		got = append(got, p.String())
	}
	want := []string{
		"name: must be a string, not a number",
		"Name: unknown field",
		"share: must be a number, not a string",
		"entries.z.ports[1]: must be a whole number",
		"entries.z.ports[2]: must be a number, not a string",
		"entries.z.limit.b: must be a number, not a string",
		"entries.a: must be an object, not an array",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	z, _ := d.Entries.Get("z")
	if d.On == nil || !*d.On || d.Extra != "e" || len(d.Entries) != 2 || d.Entries[0].Name != "z" || z.Limit["a"] != 1 || z.Any.Kind != Array {
		t.Errorf("decoded %+v", d)
	}
	encoded, err := Encode(d.Entries)
	if err != nil || encoded.Members[0].Name != "z" || encoded.Members[1].Name != "a" {
		t.Errorf("encoded %+v, %v", encoded, err)
	}
	if _, there := d.Entries.Get("none"); there {
		t.Error("an entry that is not there was found")
	}
}

func TestWithKeepsEverythingElse(t *testing.T) {
	v, err := Parse([]byte(`{"b":1,"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	v = v.With("b", Text("<x>")).With("c", Value{})
	want := "{\n  \"b\": \"<x>\",\n  \"a\": 2,\n  \"c\": null\n}\n"
	if got := string(v.Indented()); got != want {
		t.Errorf("got %s", got)
	}
	if got, there := v.Get("a"); !there || got.Text != "2" {
		t.Errorf("a is %+v, %v", got, there)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, `"\ud83d"`, `[1e999]`, "{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(v.append(nil))
		if err != nil {
			t.Fatalf("what was written does not parse: %v", err)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Error(diff)
		}
		var d document
		Decode(v, &d)
	})
}
