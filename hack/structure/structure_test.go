// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// write makes a module of the files in a folder of its own.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module example.com/m\n"
	for name, content := range files {
		file := filepath.Join(root, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o750))
		must.Succeed(t, os.WriteFile(file, []byte(content), 0o600))
	}
	return root
}

func fields(count int, tag string) string {
	text := "package a\n\ntype T struct {\n"
	for i := range count {
		text += fmt.Sprintf("\tF%d int %s\n", i, strings.ReplaceAll(tag, "%", fmt.Sprint(i)))
	}
	return text + "}\n"
}

func methods(count int) string {
	text := "package a\n\ntype T[P any] struct{}\n"
	for i := range count {
		text += fmt.Sprintf("\nfunc (t *T[P]) M%d() {}\n", i)
	}
	return text
}

func TestProblemsAreWhatExceedsALimit(t *testing.T) {
	imports := func(path string) string {
		return "package p\n\nimport _ \"example.com/m/" + path + "\"\n"
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"25 methods":              {map[string]string{"cmd/a/a.go": methods(25)}, nil},
		"26 methods":              {map[string]string{"cmd/a/a.go": methods(26)}, []string{"type cmd/a.T has 26 methods, more than 25: divide it"}},
		"15 fields":               {map[string]string{"cmd/a/a.go": fields(15, "")}, nil},
		"16 fields":               {map[string]string{"cmd/a/a.go": fields(16, "")}, []string{"type cmd/a.T has 16 fields, more than 15: divide it"}},
		"16 fields of a document": {map[string]string{"cmd/a/a.go": fields(16, "`json:\"f%\"`")}, nil},
		"16 fields of a file":     {map[string]string{"cmd/a/a.go": fields(16, "`yaml:\"f%\"`")}, nil},
		"a circle of packages' folders": {
			map[string]string{"internal/a/x/x.go": imports("internal/b/y"), "internal/b/z/z.go": imports("internal/a/w")},
			[]string{"these folders import each other: internal/a → internal/b → internal/a"},
		},
		"a circle over three folders": {
			map[string]string{"internal/a/a.go": imports("internal/b"), "internal/b/b.go": imports("internal/c/x"), "internal/c/y/y.go": imports("internal/a/z")},
			[]string{"these folders import each other: internal/a → internal/b → internal/c → internal/a"},
		},
		"a folder and what is below it": {map[string]string{"internal/a/a.go": imports("internal/a/x"), "internal/a/x/x.go": imports("internal/b")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := must.Value(readModule(write(t, test.files)))(t)
			if diff := cmp.Diff(test.want, m.problems()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSummaryCountsCodeAndNames(t *testing.T) {
	m, err := readModule(write(t, map[string]string{"cmd/a/a.go": `package a

// A comment.
func markSeen() {} // Another.

/* A longer
comment. */
func show() {
}

func URL() {}
func main() {}
`}))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(m.summary(), "\n")
	for _, want := range []string{"12 lines in 1 packages, 6 of them code", "largest packages: cmd/a 12", "function names of one word: 66 % of 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestAModuleThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := readModule(t.TempDir()); err == nil {
		t.Error("a folder without go.mod is a module")
	}
	if _, err := readModule(write(t, map[string]string{"cmd/a/a.go": "package"})); err == nil {
		t.Error("a file that is not Go was read")
	}
}

func TestLocalityCountsPackagesOfTheProduct(t *testing.T) {
	commit := func(files ...string) string { return "commit\n\n" + strings.Join(files, "\n") + "\n" }
	log := commit("internal/a/a.go", "internal/a/b.go", "docs/a.md") + commit("README.md", "internal/a/a_test.go") +
		commit("cmd/x/x.go", "internal/a/a.go", "internal/b/b.go", "internal/c/c.go") + commit("api/v1/zz_generated.deepcopy.go", "api/v1/types.go")
	want := "packages that a commit changes, of the last 3 that change code: median 1, three quarters at most 4, more than 3 in 33 %"
	if got := locality(log); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := locality(""); got != "" {
		t.Errorf("without commits: %q", got)
	}
}
