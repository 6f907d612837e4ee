// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// parsed returns what a text holds.
func parsed(t *testing.T, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

func TestParseTakesExactlyWhatJSONIs(t *testing.T) {
	for name, tt := range map[string]struct {
		in string
		ok bool
	}{
		"null":                               {`null`, true},
		"space on both sides":                {" \t\r\n1 \n", true},
		"an empty array":                     {`[ ]`, true},
		"an empty object":                    {`{ }`, true},
		"an empty name":                      {`{"":1}`, true},
		"the same name in two objects":       {`[{"a":1},{"a":1}]`, true},
		"the same name one level below":      {`{"a":{"a":1}}`, true},
		"a name twice with other values":     {`{"a":1,"b":2,"a":null}`, false},
		"a name twice, once escaped":         {`{"a":1,"\u0061":2}`, false},
		"an empty name twice":                {`{"":1,"":2}`, false},
		"as deep as there may be":            {strings.Repeat("[", 65) + strings.Repeat("]", 65), true},
		"one array deeper":                   {strings.Repeat("[", 66) + strings.Repeat("]", 66), false},
		"deeper in objects":                  {strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), false},
		"a comma at the end of an array":     {`[1,]`, false},
		"a comma at the end of an object":    {`{"a":1,}`, false},
		"no comma between items":             {`[1 2]`, false},
		"a name without a value":             {`{"a"}`, false},
		"a name that is no string":           {`{1:2}`, false},
		"an array that is not closed":        {`[1`, false},
		"an object that is not closed":       {`{"a":1`, false},
		"a bracket too many":                 {`[1]]`, false},
		"a string that is not closed":        {`"a`, false},
		"a line's end in a string":           {"\"a\nb\"", false},
		"an escape that there is not":        {`"\x"`, false},
		"an escape that is cut off":          {`"\u00`, false},
		"single quotes":                      {`'a'`, false},
		"a literal in another case":          {`True`, false},
		"a literal that is cut off":          {`tru`, false},
		"no number of JSON's":                {`NaN`, false},
		"a number with a plus":               {`+1`, false},
		"a number with a zero before it":     {`01`, false},
		"a number without a digit before it": {`.5`, false},
		"a number without a digit behind it": {`1.`, false},
		"an exponent without digits":         {`1e`, false},
		"the largest double":                 {`1.7976931348623157e308`, true},
		"more than the largest double":       {`1.8e308`, false},
		"less than the least double":         {`1e-400`, true},
		"a mark of the byte order":           {"\ufeff{}", false},
		"a null byte behind the value":       {"{}\x00", false},
		"UTF-8 that is cut off":              {"\"\xc3\"", false},
		"a surrogate that is written out":    {"\"\xed\xa0\x80\"", false},
		"a letter in too many bytes":         {"\"\xc0\xaf\"", false},
		"half a surrogate in a name":         {`{"\ud800":1}`, false},
		"an escaped backslash before a u":    {`"\\ud800"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(tt.in))
			if (err == nil) != tt.ok {
				t.Fatalf("Parse = %+v, %v", v, err)
			}
			if err != nil && cmp.Diff(Value{}, v) != "" {
				t.Errorf("with an error there is a value: %+v", v)
			}
		})
	}
}

func TestAnErrorSaysTheLineAndNoValue(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"in the first line":         {`{"key": s3cr3t}`, "line 1"},
		"in the third line":         {"{\n\"a\": 1,\n\"key\": 's3cr3t'}", "line 3"},
		"at the end of the text":    {"{\n\"key\": \"s3cr3t\"\n", "unexpected end"},
		"of a name that is doubled": {"{\"a\":\"s3cr3t\",\n\"a\":\"s3cr3t\"}", `name "a" twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestALongNameIsNotRepeatedWhole(t *testing.T) {
	name := strings.Repeat("n", 10_000)
	_, err := Parse([]byte(`{"` + name + `":1,"` + name + `":2}`))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestWhatIsWrittenReadsWellAndIsTheSame(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"what only HTML minds":        {`"<a href='x'>&</a>"`, `"<a href='x'>&</a>"`},
		"what HTML minds, escaped":    {`"\u003ca\u003e"`, `"<a>"`},
		"a slash":                     {`"a\/b"`, `"a/b"`},
		"control characters":          {`"\u0001\t\n"`, `"\u0001\t\n"`},
		"letters of others":           {`"äß漢字😀"`, `"äß漢字😀"`},
		"a backslash and a quote":     {`"\\\""`, `"\\\""`},
		"numbers in their spelling":   {`[1.0,1e5,-0,0.10,100000000000000000000000]`, `[1.0,1e5,-0,0.10,100000000000000000000000]`},
		"the order of members":        {`{"b":1,"a":{"d":1,"c":2}}`, `{"b":1,"a":{"d":1,"c":2}}`},
		"names that need an escape":   {`{"a\"b":1,"\u000b":2}`, `{"a\"b":1,"\u000b":2}`},
		"nothing in an array":         {`[]`, `[]`},
		"nothing in an object":        {`{}`, `{}`},
		"all the literals":            {`[true,false,null]`, `[true,false,null]`},
		"spaces, of which none stays": {" [ 1 , { \"a\" : 2 } ] ", `[1,{"a":2}]`},
	} {
		t.Run(name, func(t *testing.T) {
			v := parsed(t, tt.in)
			got, err := json.Marshal(v)
			// json.Marshal escapes for HTML what a marshaler has written.
			if plain := string(v.append(nil)); err != nil || plain != tt.want {
				t.Errorf("got %s, want %s (%v)", plain, tt.want, err)
			}
			if diff := cmp.Diff(v, parsed(t, string(got))); diff != "" {
				t.Errorf("read again (-first +second):\n%s", diff)
			}
		})
	}
}

func TestEqualValuesHaveEqualCanonicalBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		want string
		in   []string
	}{
		"spaces and order":         {`{"a":1,"b":[2,{"c":3,"d":4}]}`, []string{`{"b":[2,{"d":4,"c":3}],"a":1}`, "{ \"a\" : 1,\n\"b\" : [ 2, { \"c\":3, \"d\":4 } ] }"}},
		"spaces in texts":          {`{"a b":" c "}`, []string{`{ "a b" : " c " }`}},
		"the order of items stays": {`[2,1]`, []string{`[2,1]`}},
		"spellings of one":         {`[1,1,1]`, []string{`[1,1.0,1e0]`, `[10e-1,0.1e1,1.000]`}},
		"spellings of zero":        {`[0,0,0]`, []string{`[0,-0,0.0]`, `[-0.0,0e9,0]`}},
		"escapes of a letter":      {`"a/é"`, []string{`"\u0061\/\u00e9"`, `"a/é"`}},
		"shorter exponents":        {`[1e-7,1e+21,1e+100]`, []string{`[0.0000001,1000000000000000000000,1e100]`}},
		"no exponent up to there":  {`[0.000001,100000000000000000000]`, []string{`[1e-6,1e20]`}},
		"what no double tells":     {`9007199254740992`, []string{`9007199254740993`, `9007199254740992`}},
		"the least of the doubles": {`[5e-324,0]`, []string{`[5e-324,1e-400]`}},
		"characters that must be":  {`"\u0000\b\t\n\f\r\u001f\"\\"`, []string{`"\u0000\u0008\u0009\u000a\u000c\u000d\u001f\u0022\u005c"`}},
		"characters that need not": {"\"<>&\u2028\u007f\"", []string{`"\u003c\u003e\u0026\u2028\u007f"`}},
		"names as JavaScript sorts them": {`{"":0,"A":1,"a":2,"é":3,"😀":4,"` + "\ufb33" + `":5}`,
			[]string{`{"` + "\ufb33" + `":5,"😀":4,"é":3,"a":2,"A":1,"":0}`}},
		"a name and one that goes on":    {`{"a":1,"a.b":2,"aa":3}`, []string{`{"aa":3,"a.b":2,"a":1}`}},
		"a literal is not its own text":  {`[null,"null",true,"true"]`, []string{`[null,"null",true,"true"]`}},
		"an empty thing is not nothing":  {`[[],{},"",null]`, []string{`[[ ],{ },"",null]`}},
		"what is below an array as well": {`[{"a":1,"b":2}]`, []string{`[{"b":2,"a":1}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range tt.in {
				if got := string(parsed(t, in).AppendCanonical(nil)); got != tt.want {
					t.Errorf("%s becomes %s, want %s", in, got, tt.want)
				}
			}
		})
	}
}

func TestCanonicalBytesAreAppendedAndLeaveTheValueAlone(t *testing.T) {
	v := parsed(t, `{"b":1,"a":2}`)
	if got := string(v.AppendCanonical([]byte("before "))); got != `before {"a":2,"b":1}` {
		t.Errorf("got %s", got)
	}
	if got := string(v.append(nil)); got != `{"b":1,"a":2}` {
		t.Errorf("afterwards the value is %s", got)
	}
}

// refusing is a type that reads itself, and refuses what is not its own.
type refusing struct{ Read string }

// UnmarshalJSON implements json.Unmarshaler.
func (r *refusing) UnmarshalJSON(b []byte) error {
	if string(b) != `"yes"` {
		return errors.New("must be yes")
	}
	r.Read = "yes"
	return nil
}

type named string

type everyKind struct {
	Text    string            `json:"text,omitempty"`
	On      bool              `json:"on"`
	Count   int               `json:"count"`
	Share   float64           `json:"share"`
	List    []string          `json:"list"`
	Map     map[named]int     `json:"map"`
	Own     refusing          `json:"own"`
	Pointer *inner            `json:"pointer"`
	Raw     Value             `json:"raw"`
	Ordered Ordered[string]   `json:"ordered"`
	Deep    [][]int           `json:"deep"`
	Maps    []map[string]bool `json:"maps"`
	Skipped string            `json:"-"`
	Untold  string
}

func TestDecode(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want everyKind
		// problems are those that there are, one a line.
		problems string
	}{
		"a value of each kind": {
			in: `{"text":"a","on":true,"count":-3,"share":0.5,"list":["x",""],"map":{"k":1},"own":"yes","pointer":{"url":"u"},"ordered":{"b":"1","a":"2"},"deep":[[1],[]],"maps":[{"x":true}]}`,
			want: everyKind{
				Text: "a", On: true, Count: -3, Share: 0.5, List: []string{"x", ""}, Map: map[named]int{"k": 1}, Own: refusing{"yes"}, Pointer: &inner{URL: "u"},
				Ordered: Ordered[string]{{"b", "1"}, {"a", "2"}}, Deep: [][]int{{1}, {}}, Maps: []map[string]bool{{"x": true}},
			},
		},
		"null says nothing":                         {in: `{"text":null,"on":null,"list":null,"pointer":null,"own":null,"ordered":null}`},
		"null of a value is null":                   {in: `{"raw":null}`},
		"empty is not nothing":                      {in: `{"list":[],"map":{},"pointer":{}}`, want: everyKind{List: []string{}, Map: map[named]int{}, Pointer: &inner{}}},
		"a value that is kept as it is":             {in: `{"raw":{"b":1.0}}`, want: everyKind{Raw: Value{Kind: Object, Members: []Member{{"b", Value{Kind: Number, Text: "1.0"}}}}}},
		"the document is no object":                 {in: `[]`, problems: "must be an object, not an array"},
		"the document is text":                      {in: `"a"`, problems: "must be an object, not a string"},
		"a name in another case":                    {in: `{"Text":"a"}`, problems: "Text: unknown field"},
		"a name that is Go's alone":                 {in: `{"Untold":"a","Skipped":"b","-":"c"}`, problems: "Untold: unknown field\nSkipped: unknown field\n-: unknown field"},
		"a text for a number":                       {in: `{"count":"1"}`, problems: "count: must be a number, not a string"},
		"a number for a text":                       {in: `{"text":1}`, problems: "text: must be a string, not a number"},
		"a text for a switch":                       {in: `{"on":"true"}`, problems: "on: must be a boolean, not a string"},
		"half of a whole number":                    {in: `{"count":1.5}`, problems: "count: must be a whole number"},
		"a whole number with a point":               {in: `{"count":1.0}`, problems: "count: must be a whole number"},
		"a whole number with an exponent":           {in: `{"count":1e3}`, problems: "count: must be a whole number"},
		"a whole number that is too large":          {in: `{"count":9223372036854775808}`, problems: "count: must be a whole number"},
		"one thing for a list":                      {in: `{"list":"x"}`, problems: "list: must be an array, not a string"},
		"a list for an object":                      {in: `{"map":[1]}`, problems: "map: must be an object, not an array"},
		"an item of a list":                         {in: `{"list":["a",2,"c"]}`, want: everyKind{List: []string{"a", "", "c"}}, problems: "list[1]: must be a string, not a number"},
		"an item of a list in a list":               {in: `{"deep":[[1],[2,"x"]]}`, want: everyKind{Deep: [][]int{{1}, {2, 0}}}, problems: "deep[1][1]: must be a number, not a string"},
		"a value of a map":                          {in: `{"map":{"a":1,"b":null,"c":"x"}}`, want: everyKind{Map: map[named]int{"a": 1, "b": 0, "c": 0}}, problems: "map.c: must be a number, not a string"},
		"a value of an object in a list":            {in: `{"maps":[{},{"x":1}]}`, want: everyKind{Maps: []map[string]bool{{}, {"x": false}}}, problems: "maps[1].x: must be a boolean, not a number"},
		"a value of an object that keeps its order": {in: `{"ordered":{"a":1,"b":"2"}}`, want: everyKind{Ordered: Ordered[string]{{"a", ""}, {"b", "2"}}}, problems: "ordered.a: must be a string, not a number"},
		"a field of an object below":                {in: `{"pointer":{"ports":["x"],"nothing":1}}`, want: everyKind{Pointer: &inner{Ports: []int{0}}}, problems: "pointer.ports[0]: must be a number, not a string\npointer.nothing: unknown field"},
		"what a type says of itself":                {in: `{"own":"no"}`, problems: "own: must be yes"},
		"what comes after a problem is stored":      {in: `{"text":1,"count":2}`, want: everyKind{Count: 2}, problems: "text: must be a string, not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			var got everyKind
			var lines []string
			for _, p := range Decode(parsed(t, tt.in), &got) {
				lines = append(lines, p.String())
			}
			if diff := cmp.Diff(tt.problems, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasDecodedIsEncodedAgain(t *testing.T) {
	const text = `{"text":"a","on":true,"count":3,"share":0.5,"list":["x"],"map":{"k":1},"own":{"Read":"yes"},"pointer":null,"raw":{"b":1,"a":2},"ordered":{"b":"1","a":"2"},"deep":null,"maps":null,"Untold":""}`
	v, err := Encode(everyKind{
		Text: "a", On: true, Count: 3, Share: 0.5, List: []string{"x"}, Map: map[named]int{"k": 1}, Own: refusing{"yes"},
		Raw: parsed(t, `{"b":1,"a":2}`), Ordered: Ordered[string]{{"b", "1"}, {"a", "2"}},
	})
	if err != nil || string(v.append(nil)) != text {
		t.Errorf("encoded %s, %v", v.append(nil), err)
	}
	if _, err := Encode(func() {}); err == nil {
		t.Error("what is no JSON was encoded")
	}
	if _, err := (Ordered[func()]{{"a", nil}}).MarshalJSON(); err == nil {
		t.Error("a member that is no JSON was encoded")
	}
}

func TestGetFindsTheMemberOfExactlyThisName(t *testing.T) {
	v := parsed(t, `{"a":1,"A":2,"":3,"n":null}`)
	for name, want := range map[string]string{"a": "1", "A": "2", "": "3", "n": "null"} {
		if got, there := v.Get(name); !there || string(got.append(nil)) != want {
			t.Errorf("%q is %s, %t", name, got.append(nil), there)
		}
	}
	for _, of := range []Value{v, parsed(t, `[1]`), Text("b"), {}} {
		if got, there := of.Get("b"); there {
			t.Errorf("%s has b: %+v", of.append(nil), got)
		}
	}
}

func TestWith(t *testing.T) {
	for name, tt := range map[string]struct{ in, member, want string }{
		"in its place":            {`{"a":1,"b":2,"c":3}`, "b", `{"a":1,"b":"new","c":3}`},
		"at the end":              {`{"a":1}`, "b", `{"a":1,"b":"new"}`},
		"in an object of nothing": {`{}`, "a", `{"a":"new"}`},
		"in the place of nothing": {`null`, "a", `{"a":"new"}`},
		"of another case":         {`{"a":1}`, "A", `{"a":1,"A":"new"}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := parsed(t, tt.in)
			if got := string(before.With(tt.member, Text("new")).append(nil)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := string(before.append(nil)); got != tt.in {
				t.Errorf("the value before became %s", got)
			}
		})
	}
}

func TestIndented(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":[1,{"a":"<"}],"c":{},"d":[]}`: "{\n  \"b\": [\n    1,\n    {\n      \"a\": \"<\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}\n",
		`"a"`:                               "\"a\"\n",
	} {
		if got := string(parsed(t, in).Indented()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKindsAreNamedAsMessagesNameThem(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `true`: "a boolean", `1`: "a number", `""`: "a string", `[]`: "an array", `{}`: "an object",
	} {
		if got := parsed(t, text).Kind.String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	known, unknown := Problem{Path: "a", Message: "b"}, Problem{Path: "c", Message: "unknown field", Unknown: true}
	times := func(p Problem, n int) (all []Problem) {
		for range n {
			all = append(all, p)
		}
		return all
	}
	for name, tt := range map[string]struct {
		added []Problem
		// named is how many are named, and rest the lines after them.
		named int
		rest  []string
	}{
		"none":                               {nil, 0, nil},
		"one of each":                        {[]Problem{known, unknown}, 2, nil},
		"as many as are named":               {times(known, MaxProblems), MaxProblems, nil},
		"one more":                           {times(known, MaxProblems+1), MaxProblems, []string{"and 1 more"}},
		"as many of both":                    {append(times(known, MaxProblems), times(unknown, MaxProblems)...), 2 * MaxProblems, nil},
		"more of both":                       {append(times(known, MaxProblems+2), times(unknown, MaxProblems+3)...), 2 * MaxProblems, []string{"and 2 more", "and 3 more unknown fields"}},
		"those that another list counted":    {[]Problem{known, {More: 7}}, 1, []string{"and 7 more"}},
		"unknown ones that another counted":  {[]Problem{{More: 7, Unknown: true}}, 0, []string{"and 7 more unknown fields"}},
		"what is counted leaves room for it": {append(times(Problem{More: 1}, 10), known), 1, []string{"and 10 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			var p Problems
			for _, one := range tt.added {
				p.Add(one)
			}
			list := p.List()
			if len(list) < tt.named {
				t.Fatalf("%d problems, want %d", len(list), tt.named)
			}
			var rest []string
			for _, one := range list[tt.named:] {
				rest = append(rest, one.String())
			}
			if diff := cmp.Diff(tt.rest, rest); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(list, p.List()); diff != "" {
				t.Errorf("asked again (-first +second):\n%s", diff)
			}
		})
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		cut  bool
	}{
		"as long as is kept":      {strings.Repeat("a", maxText), false},
		"a byte longer":           {strings.Repeat("a", maxText+1), true},
		"in the midst of one":     {"a" + strings.Repeat("ä", maxText), true},
		"between characters":      {strings.Repeat("ä", maxText), true},
		"in the midst of a large": {strings.Repeat("😀", maxText), true},
	} {
		t.Run(name, func(t *testing.T) {
			var p Problems
			p.Add(Problem{Path: tt.text, Message: tt.text})
			got := p.List()[0]
			for _, text := range []string{got.Path, got.Message} {
				if !utf8.ValidString(text) || len(text) > maxText+len("…") || strings.HasSuffix(text, "…") != tt.cut || !tt.cut && text != tt.text {
					t.Errorf("%d bytes became %d: …%q", len(tt.text), len(text), text[max(0, len(text)-10):])
				}
			}
		})
	}
}
