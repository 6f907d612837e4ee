// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// values are the secrets of the tables.
var values = map[string]string{
	"TOKEN":     "s3cr3t",
	"EMPTY":     "",
	"DOLLAR":    "a$b${TOKEN}$$",
	"NEWLINE":   "first-half\nsecond-half",
	"file.json": "{}",
}

func lookup(name string) (string, bool) {
	value, ok := values[name]
	return value, ok
}

func TestTemplate(t *testing.T) {
	tests := map[string]struct {
		in       string
		names    []string
		required []string
		want     string
		missing  []string
	}{
		"the empty text":                         {},
		"a text without a dollar sign stays":     {in: "Bearer {x} :- \x00", want: "Bearer {x} :- \x00"},
		"a secret":                               {in: "Bearer ${TOKEN}", names: []string{"TOKEN"}, required: []string{"TOKEN"}, want: "Bearer s3cr3t"},
		"a secret of a file's name":              {in: "${file.json}!", names: []string{"file.json"}, required: []string{"file.json"}, want: "{}!"},
		"two secrets without a gap":              {in: "${TOKEN}${EMPTY}", names: []string{"TOKEN", "EMPTY"}, required: []string{"TOKEN", "EMPTY"}, want: "s3cr3t"},
		"a secret named twice is listed once":    {in: "${TOKEN}/${TOKEN}", names: []string{"TOKEN"}, required: []string{"TOKEN"}, want: "s3cr3t/s3cr3t"},
		"a default of a secret that is set":      {in: "${TOKEN:-none}", names: []string{"TOKEN"}, want: "s3cr3t"},
		"a default of a secret that is not":      {in: "<${OTHER:-none}>", names: []string{"OTHER"}, want: "<none>"},
		"an empty default":                       {in: "<${OTHER:-}>", names: []string{"OTHER"}, want: "<>"},
		"an empty secret is set":                 {in: "<${EMPTY:-none}>", names: []string{"EMPTY"}, want: "<>"},
		"a default with the sign for a default":  {in: "${OTHER:-a:-b}", names: []string{"OTHER"}, want: "a:-b"},
		"a default with a dollar sign":           {in: "${OTHER:-$$5}", names: []string{"OTHER"}, want: "$5"},
		"with and without a default is required": {in: "${OTHER:-x}${OTHER}", names: []string{"OTHER"}, required: []string{"OTHER"}, missing: []string{"OTHER"}},
		"all missing secrets are named, once":    {in: "${B}${TOKEN}${A}${B}", names: []string{"B", "TOKEN", "A"}, required: []string{"B", "TOKEN", "A"}, missing: []string{"B", "A"}},
		"two dollar signs are one":               {in: "$$5 $${TOKEN} $$$$", want: "$5 ${TOKEN} $$"},
		"a dollar sign before a secret":          {in: "$$${TOKEN}", names: []string{"TOKEN"}, required: []string{"TOKEN"}, want: "$s3cr3t"},
		"a value is not a template":              {in: "${DOLLAR}", names: []string{"DOLLAR"}, required: []string{"DOLLAR"}, want: "a$b${TOKEN}$$"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parsed := must.Value(Parse(tt.in))(t)
			if diff := cmp.Diff(tt.names, parsed.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.required, parsed.Required()); diff != "" {
				t.Errorf("required (-want +got):\n%s", diff)
			}
			got, missing := parsed.Expand(lookup)
			if got != tt.want {
				t.Errorf("value = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"a lone dollar sign at the end":        {"hunter2$", "position 8"},
		"a dollar sign before a letter":        {"hunter$2", "position 7"},
		"a name without braces":                {"$TOKEN", "position 1"},
		"an open brace":                        {"x${hunter2", "closing brace"},
		"no name":                              {"${}", "secret's name"},
		"no name and a default":                {"${:-hunter2}", "secret's name"},
		"a name in lower case":                 {"${hunter2}", "secret's name"},
		"a name with a blank":                  {"${ TOKEN}", "secret's name"},
		"a name with a line break at its end":  {"${TOKEN\n}", "secret's name"},
		"a name that begins with a dot":        {"${.index}", "secret's name"},
		"a name of 65 characters":              {"${" + strings.Repeat("A", 65) + "}", "secret's name"},
		"a file's name of 65 characters":       {"${" + strings.Repeat("a", 32) + "." + strings.Repeat("b", 32) + "}", "secret's name"},
		"another sign of the shell":            {"${TOKEN:+hunter2}", "secret's name"},
		"a template in a default":              {"${TOKEN:-${hunter2}}", "after :-"},
		"an odd dollar sign in a default":      {"${TOKEN:-$$$hunter2}", "after :-"},
		"the position is that of the mistake":  {"$$ ${TOKEN} $hunter2", "position 13"},
		"an odd number of dollar signs":        {"$$$", "position 3"},
		"a dollar sign before a closing brace": {"$}", "position 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("the error quotes the template: %v", err)
			}
		})
	}
}

func TestExpandHeader(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	secrets := func(name string) (string, bool) {
		if name == "LONG" {
			return long, true
		}
		return lookup(name)
	}
	tests := map[string]struct {
		in      string
		want    string
		missing []string
		err     string
	}{
		"a value":                             {in: "Bearer ${TOKEN}", want: "Bearer s3cr3t"},
		"a missing secret":                    {in: "Bearer ${OTHER}", missing: []string{"OTHER"}},
		"a secret with a line break":          {in: "Bearer ${NEWLINE}", err: "secret NEWLINE holds a line break or another control character, which header X-Key cannot"},
		"a text with a null byte":             {in: "Bearer \x00", err: "header X-Key holds"},
		"a text with a carriage return":       {in: "a\rb", err: "header X-Key holds"},
		"a text with a tab":                   {in: "a\tb", err: "header X-Key holds"},
		"a text with a delete character":      {in: "a\x7fb", err: "header X-Key holds"},
		"a default with a line break":         {in: "${OTHER:-a\nb}", err: "secret OTHER holds"},
		"letters beyond ASCII":                {in: "é\xff", want: "é\xff"},
		"the longest secret with text around": {in: "Bearer ${LONG}", want: "Bearer " + long},
		"two of the longest secrets":          {in: "${LONG}${LONG}", err: "longer than 66560 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parsed := must.Value(Parse(tt.in))(t)
			got, missing, err := parsed.ExpandHeader("X-Key", secrets)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want one with %q", err, tt.err)
				}
				if strings.Contains(err.Error(), "half") {
					t.Errorf("the error quotes the secret: %v", err)
				}
				if got != "" {
					t.Error("a refused value was returned")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("value = %.80q, want %.80q", got, tt.want)
			}
			if diff := cmp.Diff(tt.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "Bearer ${TOKEN}", "${A:-b}$$", "$", "${", "${}", "${a.b:-$$}}", "${A:-${B}}"} {
		f.Add(seed, "c4n4ry")
	}
	f.Fuzz(func(t *testing.T, in, value string) {
		parsed, err := Parse(in)
		if err != nil {
			if len(in) > 16 && strings.Contains(err.Error(), in) {
				t.Errorf("the error quotes the template: %v", err)
			}
			return
		}
		all := func(string) (string, bool) { return value, true }
		got, missing := parsed.Expand(all)
		if missing != nil {
			t.Errorf("missing %q where all is known", missing)
		}
		if !strings.Contains(in, "$") && got != in {
			t.Errorf("%q became %q", in, got)
		}
		none := func(string) (string, bool) { return "", false }
		if _, missing := parsed.Expand(none); !cmp.Equal(missing, parsed.Required()) {
			t.Errorf("missing %q, required %q", missing, parsed.Required())
		}
		const canary = "c4n4ry-value\n"
		header, _, err := parsed.ExpandHeader("X-Key", func(string) (string, bool) { return canary, true })
		if err != nil && strings.Contains(err.Error(), "c4n4ry-value") && !strings.Contains(in, "c4n4ry-value") {
			t.Errorf("the error quotes the secret: %v", err)
		}
		if strings.ContainsAny(header, "\r\n\x00") || len(header) > MaxHeader {
			t.Errorf("a header of %d bytes with control characters", len(header))
		}
	})
}
