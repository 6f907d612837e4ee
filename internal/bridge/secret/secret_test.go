// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const canary = "c4n4ry/s3cr3t+v4lue"

func holding(text string) Value { return New([]byte(text)) }

// outer holds secrets where package fmt does not call their methods.
type outer struct {
	Exported Value
	value    Value
	set      *Set
	direct   Set
	view     View
	redactor Redactor
	list     []Value
	byName   map[string]Value
}

func TestNothingShowsASecret(t *testing.T) {
	set := func() *Set { return NewSet("r", map[string][]byte{"TOKEN": []byte(canary)}, nil) }
	view := set().Grant([]string{"TOKEN"})
	value := holding(canary)
	o := outer{value, value, set(), *set(), view, view.Redactor(), []Value{value}, map[string]Value{"TOKEN": value}}
	shown := map[string]any{
		"a value": value, "its address": &value, "a set": set(), "a set itself": *set(), "a view": view, "its address too": &view,
		"a redactor": view.Redactor(), "a struct": o, "its pointer": &o, "a list": o.list, "a map": o.byName,
	}
	for name, v := range shown {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T", "%p"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
				slog.New(handler).Info("shown", "v", v, slog.Group("g", "v", v))
			}
			fmt.Fprintln(&out, fmt.Errorf("failed with %v", v))
			for _, encode := range []func(any) ([]byte, error){json.Marshal, xml.Marshal} {
				encoded, err := encode(v)
				fmt.Fprintln(&out, string(encoded), err)
			}
			for form, text := range map[string]string{
				"plain":   canary,
				"a part":  "s3cr3t",
				"base64":  base64.StdEncoding.EncodeToString([]byte(canary)),
				"hex":     hex.EncodeToString([]byte(canary)),
				"numbers": strings.Trim(fmt.Sprint([]byte(canary)), "[]"),
			} {
				if strings.Contains(strings.ToLower(out.String()), strings.ToLower(text)) {
					t.Errorf("shown in the form %s", form)
				}
			}
		})
	}
	if got := value.String(); got != hidden {
		t.Errorf("String = %q", got)
	}
}

func TestValue(t *testing.T) {
	b := []byte(canary)
	v := New(b)
	shared := v
	if v.Reveal() != canary || !v.Equal(holding(canary)) || v.Equal(holding("other")) || v.Equal(Value{}) {
		t.Error("the value is not what was put in")
	}
	shared.Wipe()
	if !bytes.Equal(b, make([]byte, len(canary))) {
		t.Error("the bytes were not overwritten")
	}
	if v.Reveal() != "" || !v.Equal(Value{}) || !(Value{}).Equal(v) {
		t.Error("a wiped value is not empty")
	}
	v.Wipe()
	Value{}.Wipe()
}

func TestWipeMeetsReaders(t *testing.T) {
	v := holding(canary)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			if got := v.Reveal(); got != "" && got != canary {
				t.Errorf("half of a value: %d bytes", len(got))
			}
		})
	}
	v.Wipe()
	readers.Wait()
}

func TestAViewShowsWhatIsGranted(t *testing.T) {
	set := NewSet("r1", map[string][]byte{"A": []byte("a"), "B": []byte("b"), "EMPTY": {}, "BROKEN": []byte("x")}, []string{"BROKEN", "OTHER"})
	view := set.Grant([]string{"A", "EMPTY", "BROKEN", "MISSING"})
	for name, want := range map[string]struct {
		value      string
		ok         bool
		unreadable bool
	}{
		"A":       {"a", true, false},
		"B":       {"", false, false},
		"EMPTY":   {"", true, false},
		"BROKEN":  {"", false, true},
		"OTHER":   {"", false, false},
		"MISSING": {"", false, false},
	} {
		value, ok := view.Lookup(name)
		if value != want.value || ok != want.ok || view.Unreadable(name) != want.unreadable {
			t.Errorf("%s: %q, %v, unreadable %v", name, value, ok, view.Unreadable(name))
		}
	}
	if set.Revision() != "r1" || set.Len() != 3 || !cmp.Equal(set.Unreadable(), []string{"BROKEN", "OTHER"}) {
		t.Errorf("revision %q, %d values, unreadable %q", set.Revision(), set.Len(), set.Unreadable())
	}
	set.Wipe()
	if value, _ := view.Lookup("A"); value != "" {
		t.Error("the value is there after it was wiped")
	}
	var none *Set
	none.Wipe()
	if _, ok := none.Grant([]string{"A"}).Lookup("A"); ok || none.Revision() != "" || none.Len() != 0 || none.Unreadable() != nil {
		t.Error("no set has something")
	}
}

func TestViewsAreEqualIfWhatIsGrantedIs(t *testing.T) {
	set := func(a, b string, unreadable ...string) *Set {
		return NewSet("r", map[string][]byte{"A": []byte(a), "B": []byte(b)}, unreadable)
	}
	before := set("1", "2")
	tests := map[string]struct {
		after *Set
		names []string
		want  bool
	}{
		"the same values":                  {set("1", "2"), []string{"A", "B"}, true},
		"another value":                    {set("1", "3"), []string{"A", "B"}, false},
		"another value of another":         {set("1", "3"), []string{"A"}, true},
		"a value that is gone":             {NewSet("r", nil, nil), []string{"A"}, false},
		"a value that cannot be opened":    {set("1", "2", "A"), []string{"A"}, false},
		"another that cannot be opened":    {set("1", "2", "A"), []string{"B"}, true},
		"a missing one that is unreadable": {set("1", "2", "C"), []string{"C"}, false},
		"nothing granted":                  {nil, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := before.Grant(tt.names).Equal(tt.after.Grant(tt.names)); got != tt.want {
				t.Errorf("equal = %v", got)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	const inner, short, lines = "s3cr3t", "12345", "first\n\"second\" \\ line\n"
	view := NewSet("r", map[string][]byte{
		"WHOLE": []byte(canary), "INNER": []byte(inner), "SHORT": []byte(short), "LINES": []byte(lines), "EMPTY": {},
	}, nil).Grant([]string{"WHOLE", "INNER", "SHORT", "LINES", "EMPTY"})
	r := view.Redactor()
	view.values["WHOLE"].Wipe()
	b64 := base64.StdEncoding.EncodeToString([]byte(canary))
	quoted := must.Value(json.Marshal(strings.TrimSpace(lines)))(t)
	tests := map[string]struct{ in, want string }{
		"no secret":                        {"connection refused", "connection refused"},
		"the secret":                       {"token " + canary + " is bad", "token [redacted] is bad"},
		"the secret twice":                 {canary + canary, "[redacted][redacted]"},
		"the shorter one":                  {"x" + inner + "x", "x[redacted]x"},
		"one that is too short":            {"pin " + short, "pin " + short},
		"in base64":                        {"got " + b64 + "!", "got [redacted]!"},
		"in base64 without padding":        {"got " + strings.TrimRight(b64, "=") + "!", "got [redacted]!"},
		"in hexadecimal":                   {"got " + hex.EncodeToString([]byte(canary)), "got [redacted]"},
		"in hexadecimal capitals":          {"got " + strings.ToUpper(hex.EncodeToString([]byte(canary))), "got [redacted]"},
		"in a query":                       {"q=" + url.QueryEscape(canary), "q=[redacted]"},
		"in a path":                        {"/" + url.PathEscape(canary) + "/", "/[redacted]/"},
		"in JSON, without the end's break": {"got " + string(quoted), `got "[redacted]"`},
		"quoted by Go":                     {fmt.Sprintf("got %q", strings.TrimSpace(lines)), `got "[redacted]"`},
		"the empty text":                   {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.Redact(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := (Redactor{}).Redact(canary); got != canary {
		t.Errorf("nothing to redact, and got %q", got)
	}
}
