// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// value is a value of the kind that tests use: letters and digits among
// characters that every escaping treats in its own way.
func value() string { return `+/"` + rand.Text() + rand.Text() + `=&?%<\` }

func mustNew(t *testing.T, name, value string) Canary {
	t.Helper()
	return must.Value(New(name, value))(t)
}

// writings are the forms in which a value leaks, each by the code that would
// write it.
var writings = []struct {
	name  string
	write func(string) string
}{
	{"as it is", func(v string) string { return v }},
	{"hex", func(v string) string { return hex.EncodeToString([]byte(v)) }},
	{"hex in capitals", func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) }},
	{"hex of bytes apart", func(v string) string { return fmt.Sprintf("% x", v) }},
	{"a URL's query", url.QueryEscape},
	{"a URL's path", url.PathEscape},
	{"every byte percent-encoded", func(v string) string { return escapeAll(v, "%%%02X") }},
	{"every byte percent-encoded in small letters", func(v string) string { return escapeAll(v, "%%%02x") }},
	{"JSON", func(v string) string { return string(mustJSON(v)) }},
	{"JSON within JSON", func(v string) string { return string(mustJSON(string(mustJSON(v)))) }},
	{"a quoted string", func(v string) string { return fmt.Sprintf("%q", v) }},
	{"bytes printed by accident", func(v string) string { return fmt.Sprint([]byte(v)) }},
	{"bytes printed by accident in Go's syntax", func(v string) string { return fmt.Sprintf("%#v", []byte(v)) }},
	{"a JSON list of numbers", func(v string) string {
		numbers := []int{}
		for _, b := range []byte(v) {
			numbers = append(numbers, int(b))
		}
		return string(mustJSON(numbers))
	}},
	{"bytes in JSON", func(v string) string { return string(mustJSON([]byte(v))) }},
	{"a log line", func(v string) string {
		var out strings.Builder
		slog.New(slog.NewJSONHandler(&out, nil)).Info("got", "value", v)
		return out.String()
	}},
	{"a log line of bytes", func(v string) string {
		var out strings.Builder
		slog.New(slog.NewTextHandler(&out, nil)).Info("got", "value", []byte(v))
		return out.String()
	}},
	{"without its beginning and its end", func(v string) string { return v[3 : len(v)-3] }},
}

func escapeAll(v, format string) string {
	var out strings.Builder
	for _, b := range []byte(v) {
		fmt.Fprintf(&out, format, b)
	}
	return out.String()
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestEveryWritingOfAValueIsFound(t *testing.T) {
	for _, w := range writings {
		t.Run(w.name, func(t *testing.T) {
			v := value()
			s := NewScanner(mustNew(t, "the value", v), mustNew(t, "another", value()))
			s.ScanBytes("text", "a page", []byte("before "+w.write(v)+" after"))
			found := s.Findings()
			if len(found) == 0 {
				t.Fatal("not found")
			}
			for _, f := range found {
				if f.Canary != "the value" || f.Place != "text a page" {
					t.Errorf("found %s, want the value in the page", f)
				}
				if strings.Contains(f.String(), longestRun(v)) {
					t.Error("the finding shows the value")
				}
			}
		})
	}
}

// TestBase64IsFoundAtEveryAlignment has random bytes of every number before
// and after the value, so that every letter at its edges is another.
func TestBase64IsFoundAtEveryAlignment(t *testing.T) {
	v := value()
	for name, encoding := range map[string]*base64.Encoding{
		"standard": base64.StdEncoding, "standard, not padded": base64.RawStdEncoding,
		"of URLs": base64.URLEncoding, "of URLs, not padded": base64.RawURLEncoding,
	} {
		for before := range 9 {
			for after := range 9 {
				around := make([]byte, before+after)
				_, _ = rand.Read(around)
				s := NewScanner(mustNew(t, "the value", v))
				s.ScanBytes("text", "a page", []byte(encoding.EncodeToString([]byte(string(around[:before])+v+string(around[before:])))))
				if len(s.Findings()) == 0 {
					t.Errorf("base64 %s with %d bytes before and %d after is not found", name, before, after)
				}
			}
		}
	}
}

func TestOtherTextIsNotFound(t *testing.T) {
	v := value()
	core := longestRun(v)
	tests := map[string]string{
		"nothing":                    "",
		"another value":              value(),
		"half of the value":          core[:len(core)/2],
		"the value in small letters": strings.ToLower(core),
		"the value backwards":        reverse(core),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			s := NewScanner(mustNew(t, "the value", v))
			s.ScanBytes("text", "a page", []byte(text))
			if found := s.Findings(); len(found) > 0 {
				t.Errorf("found %v", found)
			}
		})
	}
}

func reverse(s string) string {
	var out strings.Builder
	for i := len(s) - 1; i >= 0; i-- {
		out.WriteByte(s[i])
	}
	return out.String()
}

// TestNoFormIsShortEnoughToBeFoundByChance keeps a form from becoming a few
// letters that any text has.
func TestNoFormIsShortEnoughToBeFoundByChance(t *testing.T) {
	for length := minimum; length < 2*minimum; length++ {
		for _, f := range mustNew(t, "x", strings.Repeat("a", length)).forms {
			if len(f.text) < minimum {
				t.Errorf("%s of %d letters is searched by %d", f.name, length, len(f.text))
			}
		}
	}
}

func TestAValueThatChanceMayMakeIsRefused(t *testing.T) {
	for _, v := range []string{"", "short", "many-words-but-each-of-them-is-short"} {
		if _, err := New("it", v); err == nil {
			t.Errorf("New takes a value of %d bytes", len(v))
		} else if v != "" && strings.Contains(err.Error(), v) {
			t.Error("the error shows the value")
		}
	}
}

// TestAValueAcrossTheEdgeOfAChunkIsFound moves the value over the edge.
func TestAValueAcrossTheEdgeOfAChunkIsFound(t *testing.T) {
	v := value()
	s := NewScanner(mustNew(t, "the value", v))
	first := len(s.buffer)
	for _, edge := range []int{first, first + len(s.buffer) - s.longest} {
		for at := edge - len(v) - 1; at <= edge+1; at += 3 {
			s := NewScanner(mustNew(t, "the value", v))
			content := strings.Repeat("x", at) + v + strings.Repeat("y", 100)
			must.Succeed(t, s.Scan("text", "a page", strings.NewReader(content)))
			if len(s.Findings()) == 0 {
				t.Fatalf("at %d, which is %d from the edge, it is not found", at, at-edge)
			}
			if got := s.Scanned()["text"]; got != int64(len(content)) {
				t.Fatalf("%d bytes were scanned, want %d", got, len(content))
			}
		}
	}
}

func TestAPlaceThatCannotBeReadIsAnError(t *testing.T) {
	s := NewScanner(mustNew(t, "the value", value()))
	broken := errors.New("broken")
	if err := s.Scan("text", "a page", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("Scan says %v, want %v", err, broken)
	}
	if err := s.ScanObject("object", "an object", []byte("{")); err == nil {
		t.Error("ScanObject takes half an object")
	}
}

func TestAnObjectIsSearchedBelowItsEncodings(t *testing.T) {
	v := value()
	tests := map[string]any{
		"a string":                         map[string]any{"data": v},
		"a key":                            map[string]any{v: "x"},
		"in a list":                        []any{"x", []any{v}},
		"base64":                           map[string]any{"data": []byte("x" + v)},
		"base64 in base64":                 map[string]any{"data": []byte(base64.StdEncoding.EncodeToString([]byte(v)))},
		"hex in base64":                    map[string]any{"data": []byte(hex.EncodeToString([]byte(v)))},
		"escaped, and every byte of it so": json.RawMessage(`{"data":"` + escapeAll(v, `\u00%02x`) + `"}`),
	}
	for name, document := range tests {
		t.Run(name, func(t *testing.T) {
			s := NewScanner(mustNew(t, "the value", v))
			must.Succeed(t, s.ScanObject("object", "it", mustJSON(document)))
			if len(s.Findings()) == 0 {
				t.Error("not found")
			}
		})
	}
}

func TestFindingsAreInOrderAndEachOnce(t *testing.T) {
	a, b := rand.Text(), rand.Text()
	s := NewScanner(mustNew(t, "b", b), mustNew(t, "a", a))
	for _, place := range []string{"2", "1", "2"} {
		s.ScanBytes("page", place, []byte(b+" "+a+" "+a))
	}
	want := []Finding{
		{"a", "page 1", "plain"}, {"a", "page 2", "plain"},
		{"b", "page 1", "plain"}, {"b", "page 2", "plain"},
	}
	if diff := cmp.Diff(want, s.Findings()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func BenchmarkScan(b *testing.B) {
	var canaries []Canary
	for i := range 10 {
		c := must.Value(New(fmt.Sprint(i), value()))(b)
		canaries = append(canaries, c)
	}
	content := make([]byte, 16<<20)
	_, _ = rand.Read(content)
	s := NewScanner(canaries...)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		s.ScanBytes("text", "a page", content)
	}
}
