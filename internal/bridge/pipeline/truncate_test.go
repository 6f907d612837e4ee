// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// fieldsOf parses a result.
func fieldsOf(t *testing.T, s string) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &fields); err != nil {
		t.Fatalf("%v in %.200s", err, s)
	}
	return fields
}

func long(n int) string { return strings.Repeat("line of text\\n", n/14+1) }

func TestAResultIsMadeToFit(t *testing.T) {
	tests := map[string]struct {
		method, result  string
		has, hasNo      []string
		structuredStays bool
	}{
		"a long text keeps its beginning": {
			"tools/call", `{"content":[{"type":"text","text":"first ` + long(5000) + `"}]}`,
			[]string{`"first line`, "[truncated: ", " of 46"}, nil, false,
		},
		"a short text beside a long one stays whole": {
			"tools/call", `{"content":[{"type":"text","text":"` + long(5000) + `"},{"type":"text","text":"the summary"}]}`,
			[]string{`"the summary"`, "[truncated: "}, nil, false,
		},
		"an error stays one": {
			"tools/call", `{"isError":true,"content":[{"type":"text","text":"` + long(5000) + `"}]}`,
			[]string{`"isError":true`}, nil, false,
		},
		"a large image becomes a note and the text stays": {
			"tools/call", `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 1000) + `"}]}`,
			[]string{`"see"`, `left out: \"image\" of 4002 bytes`}, []string{"image/png", "AAAA"}, false,
		},
		"a small image beside a long text stays": {
			"tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":"` + long(5000) + `"}]}`,
			[]string{`"data":"AAAA"`, "[truncated: "}, nil, false,
		},
		"structured content is never cut": {
			"tools/call", `{"content":[{"type":"text","text":"short"}],"structuredContent":{"rows":["` + long(5000) + `"]}}`,
			[]string{`"short"`, `left out: \"structuredContent\" of 5`}, []string{`"rows"`}, false,
		},
		"small structured content stays": {
			"tools/call", `{"content":[{"type":"text","text":"` + long(5000) + `"}],"structuredContent":{"n":9007199254740993}}`,
			[]string{`{"n":9007199254740993}`, "[truncated: "}, nil, true,
		},
		"an embedded resource's data becomes a note": {
			"tools/call", `{"content":[{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b","blob":"` + strings.Repeat("AAAA", 1000) + `"}}]}`,
			[]string{`"uri":"x:y"`, `left out: \"blob\"`, `"type":"resource"`}, []string{"AAAA"}, false,
		},
		"a prompt's message is cut": {
			"prompts/get", `{"messages":[{"role":"user","content":{"type":"text","text":"` + long(5000) + `"}}]}`,
			[]string{`"role":"user"`, "[truncated: "}, nil, false,
		},
		"a prompt's several blocks are cut": {
			"prompts/get", `{"messages":[{"role":"user","content":[{"type":"text","text":"` + long(5000) + `"},{"type":"text","text":"b"}]}]}`,
			[]string{`"b"`, "[truncated: "}, nil, false,
		},
		"a resource is cut": {
			"resources/read", `{"contents":[{"uri":"x:y","text":"` + long(5000) + `"}]}`,
			[]string{`"uri":"x:y"`, "[truncated: "}, nil, false,
		},
		"a resource's data becomes a note": {
			"resources/read", `{"contents":[{"uri":"x:y","blob":"` + strings.Repeat("AAAA", 1000) + `"}]}`,
			[]string{`"uri":"x:y"`, `"mimeType":"text/plain"`, `left out: \"blob\"`}, []string{`"blob":`}, false,
		},
		"blocks without number lose the last": {
			"tools/call", `{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 500) + `{"type":"text","text":"z"}]}`,
			[]string{`"a"`, "the last of many parts"}, []string{`"z"`}, false,
		},
		"content of an unexpected shape is left out": {
			"tools/call", `{"content":"` + long(5000) + `"}`,
			[]string{`left out: \"content\"`}, nil, false,
		},
		"metadata without end is left out": {
			"tools/call", `{"content":[{"type":"text","text":"a"}],"_meta":{"x":"` + long(5000) + `"}}`,
			[]string{`"a"`, `left out: \"_meta\"`}, []string{`"x"`}, false,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fields := fieldsOf(t, tt.result)
			if !truncateResult(tt.method, fields, 1000) {
				t.Fatal("nothing was done")
			}
			b := string(jsondoc.EncodeExact(fields))
			if len(b) > 1000 {
				t.Errorf("the result has %d bytes: %s", len(b), b)
			}
			for _, part := range tt.has {
				if !strings.Contains(b, part) {
					t.Errorf("no %s in %s", part, b)
				}
			}
			for _, part := range tt.hasNo {
				if strings.Contains(b, part) {
					t.Errorf("there is %s in %s", part, b)
				}
			}
			if _, ok := fields["structuredContent"]; ok != tt.structuredStays {
				t.Errorf("structured content is there: %v", ok)
			}
		})
	}
}

func TestAResultThatFitsStaysAsItIs(t *testing.T) {
	const same = `{"content":[ {"type":"text", "text":"\u00e9"} ],"x":1.0}`
	fields := fieldsOf(t, same)
	if truncateResult("tools/call", fields, 1000) {
		t.Error("it was changed")
	}
	if diff := cmp.Diff(fieldsOf(t, same), fields); diff != "" {
		t.Error(diff)
	}
}

func TestATextEndsWithACharacterAndALine(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"what fits stays":                       {"abc", 100, "abc"},
		"a character of several bytes is whole": {strings.Repeat("é", 100), 60, strings.Repeat("é", 13) + "\n[truncated: 26 of 200 bytes]"},
		"no room for anything but the note":     {strings.Repeat("x", 100), 3, "\n[truncated: 0 of 100 bytes]"},
		"what takes more room in JSON is cut":   {strings.Repeat("\x01", 100), 100, strings.Repeat("\x01", 11) + "\n[truncated: 11 of 100 bytes]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := truncateText(tt.text, tt.limit)
			if got != tt.want {
				t.Errorf("text = %q, want %q", got, tt.want)
			}
		})
	}
	if got, want := truncateText("first line\nsecond line\nthe third line is long", 47), "first line\n[truncated: 10 of 45 bytes]"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestTheSizeOfATextIsThatOfItsJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\b\f", "\x00\x1f\x7f", "é€😀", "\u2028\u2029", "a\xffb", "\ufffd", "<&>"} {
		if got, want := encoded(s), len(jsondoc.EncodeExact(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func FuzzResult(f *testing.F) {
	for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
		f.Add(method, []byte(`{"content":[{"type":"text","text":"abc"}],"messages":[],"contents":[{"uri":"a","blob":"AA"}],"structuredContent":{"a":[1]}}`), 600)
	}
	f.Add("tools/call", []byte(`{"content":[{"type":"text","text":"`+long(900)+`"},{"type":"image","data":"`+strings.Repeat("A", 900)+`"}],"isError":true}`), 600)
	f.Fuzz(func(t *testing.T, method string, b []byte, limit int) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(b, &fields) != nil || fields == nil {
			return
		}
		wasError := string(fields["isError"])
		known := methods.Of(method).Content != ""
		if !truncateResult(method, fields, limit) || !known {
			return
		}
		out := jsondoc.EncodeExact(fields)
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		if len(wasError) < 10 && string(fields["isError"]) != wasError {
			t.Errorf("isError was %s and is %s", wasError, fields["isError"])
		}
		if len(wasError) < 10 && len(fields["resultType"]) < 40 && len(out) > max(limit, minResult) {
			t.Errorf("%d bytes for a limit of %d: %s", len(out), limit, out)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("some text\nof lines", 30)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := truncateText(s, limit)
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("%q is cut to %q", s, got)
		}
		if room := max(limit, encoded(fmt.Sprintf("\n[truncated: 0 of %d bytes]", len(s)))); encoded(got) > room {
			t.Errorf("%q takes %d bytes, limit %d", got, encoded(got), limit)
		}
	})
}
