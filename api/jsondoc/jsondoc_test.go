// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
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

// listOf returns a document whose member of this name has so many of the item.
func listOf(t *testing.T, name, item string, n int) Value {
	t.Helper()
	return must.Value(Parse([]byte(`{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`)))(t)
}

func TestOfManyProblemsTheFirstOnesAreNamed(t *testing.T) {
	type list struct {
		Tags  []string `json:"tags"`
		Inner []inner  `json:"inner"`
	}
	for name, tt := range map[string]struct {
		v     Value
		first string
		last  Problem
	}{
		"items":          {listOf(t, "tags", "1", 128_000), "tags[0]: must be a string, not a number", Problem{Message: "and 127900 more", More: 127_900}},
		"unknown fields": {listOf(t, "inner", `{"x":1}`, 30_000), "inner[0].x: unknown field", Problem{Message: "and 29900 more unknown fields", Unknown: true, More: 29_900}},
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			got := Decode(tt.v, &l)
			if len(got) != MaxProblems+1 || got[0].String() != tt.first || got[MaxProblems] != tt.last {
				t.Errorf("%d problems from %v to %v", len(got), got[0], got[len(got)-1])
			}
			if n := testing.AllocsPerRun(1, func() { Decode(tt.v, &l) }); n > 1000 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestManyStructsAreReadWithoutAskingForTheirFieldsAgain(t *testing.T) {
	v := listOf(t, "inner", `{"url":"x"}`, 10_000)
	var l struct {
		Inner []inner `json:"inner"`
	}
	if n := testing.AllocsPerRun(1, func() { Decode(v, &l) }); n > 100 || len(l.Inner) != 10_000 || l.Inner[9_999].URL != "x" {
		t.Errorf("%v allocations", n)
	}
}

func TestUnknownFieldsHideNoProblem(t *testing.T) {
	v := listOf(t, "entries", "0", 1).With("entries", Value{})
	for i := range 2 * MaxProblems {
		v.Members = append(v.Members, Member{"x" + strings.Repeat("x", i), Value{}})
	}
	v.Members = append(v.Members, Member{"name", Value{Kind: Bool, Text: "true"}})
	var d document
	got := Decode(v, &d)
	want := []Problem{{Path: "name", Message: "must be a string, not a boolean"}, {Message: "and 100 more unknown fields", Unknown: true, More: 100}}
	if diff := cmp.Diff(want, got[len(got)-2:]); len(got) != MaxProblems+2 || diff != "" {
		t.Errorf("%d problems: %s", len(got), diff)
	}
}

func TestLongNamesAreNotRepeated(t *testing.T) {
	long := strings.Repeat("ä", 50_000)
	v := Value{Kind: Object, Members: []Member{{"entries", Value{Kind: Object, Members: []Member{{long, listOf(t, "ports", `"x"`, 2*MaxProblems)}}}}}}
	var d document
	size := 0
	for _, p := range Decode(v, &d) {
		if size += len(p.String()); !utf8.ValidString(p.Path) {
			t.Errorf("half a character in %q", p.Path)
		}
	}
	if size > MaxProblems*1024 {
		t.Errorf("the problems have %d bytes", size)
	}
}

func TestProblemsOfSeveralListsAreCountedTogether(t *testing.T) {
	var all Problems
	for range 2 {
		var part Problems
		for range MaxProblems - 10 {
			part.Add(Problem{Path: "a", Message: "b"})
		}
		part.Add(Problem{More: 5})
		for _, p := range part.List() {
			all.Add(p)
		}
	}
	got := all.List()
	if last := got[len(got)-1]; len(got) != MaxProblems-4 || last.More != 95 {
		t.Errorf("%d problems, the last one %+v", len(got), last)
	}
}

func TestWithKeepsEverythingElse(t *testing.T) {
	v := must.Value(Parse([]byte(`{"b":1,"a":2}`)))(t)
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

func FuzzAppendCanonical(f *testing.F) {
	for _, seed := range []string{`{"id":"notes","costPerCall":1.0}`, `{"a":{"b":[1.0,-0,1e300,"\u0001é"]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			return
		}
		once := v.AppendCanonical(nil)
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%s does not parse: %v", once, err)
		}
		if twice := again.AppendCanonical(nil); string(twice) != string(once) {
			t.Errorf("%s becomes %s", once, twice)
		}
	})
}
