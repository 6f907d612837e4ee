// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextOfOthersIsShownAsText(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"markup":             {`<script>alert("x")</script>`, `<bdi>&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;</bdi>`},
		"a direction":        {"gpj\u202eexe", "<bdi>gpj[U+202E]exe</bdi>"},
		"an isolate":         {"a\u2068b\u2069", "<bdi>a[U+2068]b[U+2069]</bdi>"},
		"control characters": {"a\x00\x1b[31mb\r", "<bdi>a[U+0000][U+001B][31mb[U+000D]</bdi>"},
		"no width":           {"ad\u200bmin", "<bdi>ad[U+200B]min</bdi>"},
		"bytes that are none": {
			"a\xffb", "<bdi>a\ufffdb</bdi>",
		},
		"Hebrew":    {"שלום", "<bdi>שלום</bdi>"},
		"two lines": {"a\nb", "<bdi>a\nb</bdi>"},
	} {
		if got := string(Name(tt.in)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestTextOfOthersIsBounded(t *testing.T) {
	long := strings.Repeat("é", 10<<10)
	got := Visible(long, NameLength)
	if utf8.RuneCountInString(got) != NameLength+1 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters, which end with %q", utf8.RuneCountInString(got), got[len(got)-3:])
	}
	if got := Visible("short", NameLength); got != "short" {
		t.Errorf("a short text became %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x00<", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 0 || most > 1<<10 {
			return
		}
		got := Visible(s, most)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\u202e\u2066\u200b") {
			t.Errorf("%q became %q", s, got)
		}
	})
}
