// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"strings"
	"testing"
)

func TestFetchesSaysWhatMayStand(t *testing.T) {
	_, err := Fetches("npx", []string{"-y", "--registry=https://user:secret@x.example", "p"})
	if err == nil || !strings.Contains(err.Error(), `"--registry"`) || !strings.Contains(err.Error(), "--package") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err = Fetches("uvx", []string{"-p", "python3", "p"}); err == nil || strings.Contains(err.Error(), "--package") || !strings.Contains(err.Error(), "--from") {
		t.Error(err)
	}
}

func TestNamesArePythonsWhereTheyArePythons(t *testing.T) {
	tests := map[string]struct {
		method, installed, name string
		want                    bool
	}{
		"the same":                   {"npx", "@s/p", "@s/p", true},
		"npm's are exact":            {"npx", "my-pkg", "My_Pkg", false},
		"npm's have no extras":       {"npx", "p", "p[x]", false},
		"Python's in other letters":  {"uvx", "my-pkg", "My_Pkg", true},
		"runs of separators":         {"uvx", "My._-Pkg", "my-pkg", true},
		"one has extras":             {"uvx", "pkg", "pkg[cli]", true},
		"the other has":              {"pip", "pkg[cli]", "pkg", true},
		"no separator":               {"uvx", "my-pkg", "mypkg", false},
		"another one":                {"uvx", "pkg", "pkg2[cli]", false},
		"something else with extras": {"uvx", "pkg", "pkg[cli] @ https://evil.example", false},
		"extras that do not end":     {"uvx", "pkg", "pkg[cli", false},
		"another installer's":        {"docker", "pkg", "PKG", false},
	}
	for name, tt := range tests {
		if got := IsNameOf(Install{Method: tt.method, Package: tt.installed}, tt.name); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzFetches looks for arguments in which one package is found when a recipe is
// checked, and another when it is converted.
func FuzzFetches(f *testing.F) {
	for _, args := range []string{"-y p@1.0.0", "-y -p p@1 -- mcp -p x", "--from p==1 p --from x", "-- p", "-- -p x", "-p -y x", "-p  x", "--package", "--package=p@1 x", "--from=p[x]==1 p", "--package= x", "-p=p x", "-q --python 3.12 p", "--python=3.12 p", "--python= p", "-p 3 p"} {
		f.Add("npx", args)
		f.Add("uvx", args)
	}
	f.Fuzz(func(t *testing.T, method, text string) {
		args := strings.Split(text, " ")
		fetched, err := Fetches(method, args)
		if err != nil {
			return
		}
		at, from := packageAt(method, args)
		if at < 0 || args[at][from:] != fetched.Package {
			t.Errorf("%q: checked %q, converted word %d", args, fetched.Package, at)
		}
	})
}
