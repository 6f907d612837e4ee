// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTextsOfServersAreBoundedAndPlain(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                {"Finds issues.", "Finds issues."},
		"several lines":        {"a\nb\tc", "a b c"},
		"another direction":    {"safe\u202eexe.txt", "safeexe.txt"},
		"invisible":            {"a\u200bb\u2066c", "abc"},
		"a terminal's command": {"\x1b[31mred", " [31mred"},
		"no UTF-8":             {"a\xffb", "ab"},
		"other scripts":        {"поиск 検索", "поиск 検索"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Tool{Description: tt.in}).Bounded().Description; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	long := Tool{Name: strings.Repeat("é", 10_000), Description: strings.Repeat("é", 10_000)}.Bounded()
	if len(long.Name) > MaxName || len(long.Description) > MaxText || !utf8.ValidString(long.Description) {
		t.Errorf("%d and %d bytes", len(long.Name), len(long.Description))
	}
}

func TestReadBoundsTheList(t *testing.T) {
	many := must.Value(json.Marshal(ToolList{Tools: make([]Tool, MaxTools+1)}))(t)
	all := ToolPage{Limit: MaxTools}
	l, err := ReadTools(bytes.NewReader(many), all)
	if err != nil || len(l.Tools) != MaxTools || !l.More || l.Next != 0 {
		t.Errorf("%d tools, more: %v, next: %d, %v", len(l.Tools), l.More, l.Next, err)
	}
	for _, bad := range []string{
		"", "[]", `{"tools":1}`, `{"tools":[]`, `{"tools":[1]}`, `{"tools":[]}{}`, strings.Repeat(" ", MaxToolsBytes+1), `{"tools":[{"name":"` + strings.Repeat("x", MaxToolsBytes),
	} {
		if _, err := ReadTools(strings.NewReader(bad), all); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.20q is read: %v", bad, err)
		}
	}
}

func TestPagesHaveEachToolOnce(t *testing.T) {
	const list = `{"other":[1],"tools":[{"name":"a"},{"name":"hidden","hidden":true},{"name":"b"},{"name":"c"}],"more":false}`
	shown := func(t Tool) bool { return !t.Hidden }
	for limit := 1; limit <= 4; limit++ {
		var names []string
		for p := (ToolPage{Limit: limit, Keep: shown}); ; {
			l := must.Value(ReadTools(strings.NewReader(list), p))(t)
			for _, tool := range l.Tools {
				names = append(names, tool.Name)
			}
			if p.First = l.Next; p.First == 0 {
				break
			}
		}
		if got := strings.Join(names, " "); got != "a b c" {
			t.Errorf("pages of %d have %s", limit, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","server":"s","tool":"t","denied":true}],"more":true}`))
	f.Add([]byte(`{"tools":[{"description":"\u202e\u0000"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ReadTools(bytes.NewReader(b), ToolPage{Limit: 100})
		if err != nil {
			return
		}
		for _, tool := range l.Tools {
			if len(tool.Description) > MaxText || strings.ContainsFunc(tool.Name, unicode.IsControl) {
				t.Errorf("%+v", tool)
			}
		}
	})
}
