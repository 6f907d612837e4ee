// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// membersOf returns the members of an object, and whether the text is valid.
func membersOf(text string) (members []string, valid bool) {
	r := Open([]byte(text))
	defer r.Close()
	for name := range r.Members() {
		members = append(members, string(name)+"="+string(r.Raw()))
	}
	return members, r.Valid()
}

func TestMembers(t *testing.T) {
	tests := map[string]struct {
		text  string
		want  []string
		valid bool
	}{
		"an object":                         {`{"a":1,"b":{"c":[1,"}"]}}`, []string{"a=1", `b={"c":[1,"}"]}`}, true},
		"white space everywhere":            {" {\t\"a\" :\n1 , \"b\":\r[ ] } ", []string{"a=1", "b=[ ]"}, true},
		"a name that stands twice":          {`{"a":1,"a":2,"A":3}`, []string{"a=1", "a=2", "A=3"}, true},
		"a name with an escape":             {`{"\u0061\n":1}`, []string{"a\n=1"}, true},
		"a name that is not UTF-8":          {"{\"a\xff\":\"\xff\"}", []string{"a\ufffd=\"\xff\""}, true},
		"half of a character":               {`{"\ud800":"\ud800"}`, []string{"\ufffd=\"\\ud800\""}, true},
		"an empty object":                   {`{}`, nil, true},
		"an array":                          {`[{"a":1}]`, nil, true},
		"a number":                          {`5`, nil, true},
		"nothing":                           {` `, nil, false},
		"something behind it":               {`{"a":1} x`, []string{"a=1"}, false},
		"another value behind it":           {`{"a":1}{}`, []string{"a=1"}, false},
		"a mark of the byte order":          {"\ufeff{\"a\":1}", nil, false},
		"cut off in a name":                 {`{"a":1,"b`, []string{"a=1"}, false},
		"cut off behind a name":             {`{"a":1,"b"`, []string{"a=1"}, false},
		"cut off in an object":              {`{"a":1,"b": {"c":[1,`, []string{"a=1", `b={"c":[1,`}, false},
		"cut off in a string":               {`{"a":"x\`, []string{`a="x\`}, false},
		"cut off behind a value":            {`{"a":1`, []string{"a=1"}, false},
		"what is not JSON from there on":    {`{"a":1,"b":{"c":x},"d":2}`, []string{"a=1", `b={"c":x},"d":2}`}, false},
		"nested deeper than a reader takes": {strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, valid := membersOf(tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" || valid != tt.valid {
				t.Errorf("valid %v, members (-want +got):\n%s", valid, diff)
			}
		})
	}
}

func TestWhatIsNotReadIsPassedOver(t *testing.T) {
	text := `{"skipped":{"a":[{}]},"left":{"a":{"b":1,"c":2},"d":3},"list":[[1,2],{"x":0},4],"last":"\u0041"}`
	r := Open([]byte(text))
	defer r.Close()
	var got []string
	for name := range r.Members() {
		got = append(got, string(name))
		switch string(name) {
		case "left":
			for inner := range r.Members() {
				got = append(got, string(inner))
				for deepest := range r.Members() {
					got = append(got, string(deepest))
					break
				}
				break
			}
		case "list":
			for i := range r.Items() {
				if i == 2 {
					got = append(got, string(r.Raw()))
				}
			}
		case "last":
			got = append(got, r.Text())
		}
	}
	if diff := cmp.Diff([]string{"skipped", "left", "a", "b", "list", "4", "last", "A"}, got); diff != "" || !r.Valid() {
		t.Error(diff)
	}
}

func TestTextIsThatOfStringsAlone(t *testing.T) {
	for value, want := range map[string]string{
		`"a b"`: "a b", `"\u00e9\"é"`: `é"é`, `""`: "", `"\ud800"`: "\ufffd", "\"\xff\"": "\ufffd",
		`"`: "", `"a`: "", `"\"`: "", `"é`: "", `5`: "", `null`: "", `["a"]`: "", ``: "",
	} {
		if got := Text([]byte(value)); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestAMessageIsReadWithoutAllocations(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`)
	allocs := testing.AllocsPerRun(100, func() {
		r := Open(text)
		defer r.Close()
		for name := range r.Members() {
			if string(name) == "params" {
				for range r.Members() {
					r.Raw()
				}
			}
		}
		if !r.Valid() {
			t.Error("not valid")
		}
	})
	if allocs > 1 { // The pool may be emptied meanwhile.
		t.Errorf("%v allocations", allocs)
	}
}

// FuzzMembers holds the reader against encoding/json: what is valid, the members
// of objects and the items of arrays, and what is found of a text that is cut off.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":{"c":[1,"}"]},"a":"\u0061"}`, `[{"a":[]},2]`, `{}`, `[]`, ` { "é" : null } `, `"x"`, `{"":""}`,
		`{"\ud800":1}`, "{\"\xff\":\"\xff\"}", `{"a":{}}{}`,
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		members, valid := membersOf(string(b))
		if valid != json.Valid(b) {
			t.Fatalf("%q: valid is %v", b, valid)
		}
		r := Open(b)
		defer r.Close()
		var items []json.RawMessage
		for range r.Items() {
			items = append(items, r.Raw())
		}
		if !valid {
			return // It must only come to an end.
		}
		got := map[string]string{}
		for _, m := range members {
			name, value, _ := strings.Cut(m, "=")
			got[name] = value
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) == nil && !strings.Contains(strings.Join(slices.Collect(maps.Keys(want)), ""), "=") {
			if len(got) != len(want) {
				t.Errorf("%s: %d members, want %d", b, len(got), len(want))
			}
			for name, value := range want {
				if got[name] != string(value) {
					t.Errorf("%s: %q is %q, want %q", b, name, got[name], value)
				}
			}
		}
		var all []json.RawMessage
		if json.Unmarshal(b, &all) == nil {
			if diff := cmp.Diff(all, items, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: items (-want +got):\n%s", b, diff)
			}
		}
		// All but the last of what is found of a beginning is found of the whole.
		if begun, _ := membersOf(string(b[:max(0, min(cut, len(b)))])); len(begun) > 1 {
			if diff := cmp.Diff(members[:len(begun)-1], begun[:len(begun)-1]); diff != "" {
				t.Errorf("%s cut at %d: members (-whole +begun):\n%s", b, cut, diff)
			}
		}
	})
}
