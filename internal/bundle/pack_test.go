// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// entry is a file with its text, a link "-> target", or a directory "/".
type entry struct{ name, text string }

// theTree has the names whose order differs between byte order and that of directories.
var theTree = []entry{
	{"a", "/"},
	{"a/z", "in a"},
	{"a-b", "beside a"},
	{"a.js", "!#!/usr/bin/env node"},
	{"empty", "/"},
	{"node_modules", "/"},
	{"node_modules/.bin", "/"},
	{"node_modules/.bin/x", "-> ../x/index.js"},
	{"node_modules/x", "/"},
	{"node_modules/x/index.js", "!console.log(1)"},
	{"node_modules/x/" + strings.Repeat("long/", 30) + "ü.js", "deep"},
}

// makeTree makes a tree. A file whose text begins with ! can be executed.
func makeTree(t *testing.T, entries []entry) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		name := filepath.Join(dir, e.name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(name), 0o755))
		switch {
		case e.text == "/":
			must.Succeed(t, os.MkdirAll(name, 0o700))
		case strings.HasPrefix(e.text, "-> "):
			must.Succeed(t, os.Symlink(e.text[3:], name))
		case strings.HasPrefix(e.text, "!"):
			must.Succeed(t, os.WriteFile(name, []byte(e.text), 0o700))
		default:
			must.Succeed(t, os.WriteFile(name, []byte(e.text), 0o600))
		}
	}
	return dir
}

func pack(t *testing.T, dir string) (Result, []byte) {
	t.Helper()
	var b bytes.Buffer
	result := must.Value(Pack(dir, &b, Limits{}))(t)
	return result, b.Bytes()
}

// readTree returns what is in a tree, with modes.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must.Succeed(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		short := must.Value(filepath.Rel(dir, name))(t)
		info := must.Value(d.Info())(t)
		switch {
		case d.IsDir():
			found[short] = "/"
		case info.Mode().IsRegular():
			found[short] = info.Mode().String() + " " + string(must.Value(os.ReadFile(name))(t))
		default:
			found[short] = "-> " + must.Value(os.Readlink(name))(t)
		}
		return nil
	}))
	return found
}

func TestEqualTreesHaveEqualBundlesAndComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	first, one := pack(t, makeTree(t, theTree))
	backwards := []entry{{"package-lock.json", `{"resolved":"https://registry"}`}, {"node_modules/.package-lock.json", `{"resolved":"https://registry"}`}}
	for i := range theTree {
		backwards = append(backwards, theTree[len(theTree)-1-i])
	}
	other := makeTree(t, backwards)
	must.Succeed(t, os.Chtimes(filepath.Join(other, "a.js"), time.Unix(1, 0), time.Unix(1, 0)))
	second, two := pack(t, other)
	if first != second || !bytes.Equal(one, two) {
		t.Errorf("%+v and %+v", first, second)
	}
	// Another digest here is another one for every bundle that an installation has.
	const want = "sha256:857c0a270bafe6ba2e06da10fba4d78a2914bc9a61e7a74e6f40e9c66d42456c"
	if first.Digest != want {
		t.Errorf("the digest is %s, want %s", first.Digest, want)
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	must.Succeed(t, Unpack(t.Context(), bytes.NewReader(one), dir, first.Digest, first.Size))
	expected := map[string]string{
		"a": "/", "empty": "/", "node_modules": "/", "node_modules/.bin": "/", "node_modules/x": "/",
		"a/z": "-r--r--r-- in a", "a-b": "-r--r--r-- beside a", "a.js": "-r-xr-xr-x !#!/usr/bin/env node",
		"node_modules/.bin/x": "-> ../x/index.js", "node_modules/x/index.js": "-r-xr-xr-x !console.log(1)",
		"node_modules/x/" + strings.Repeat("long/", 30) + "ü.js": "-r--r--r-- deep",
	}
	for i := range 30 {
		expected["node_modules/x"+strings.Repeat("/long", i+1)] = "/"
	}
	if diff := cmp.Diff(expected, readTree(t, dir)); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
	again, three := pack(t, dir)
	if again != first || !bytes.Equal(one, three) {
		t.Errorf("packed again: %+v", again)
	}
}

func TestATreeThatABundleCannotHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		tree   []entry
		limits Limits
		code   Code
	}{
		{"an absolute link", []entry{{"x", "-> /etc/passwd"}}, Limits{}, BadTree},
		{"a link that climbs", []entry{{"a/x", "-> ../../y"}}, Limits{}, BadTree},
		{"a link that climbs after a name", []entry{{"a/b/c", "-> ../.."}, {"x", "-> a/b/c/../../y"}}, Limits{}, BadTree},
		{"too many bytes", []entry{{"x", strings.Repeat("x", 5000)}}, Limits{Bytes: 4096}, TooLarge},
		{"too many files", []entry{{"x", ""}, {"y", ""}, {"z", ""}}, Limits{Files: 2}, TooLarge},
		{"a path with a backslash", []entry{{`a\b`, ""}}, Limits{}, BadTree},
		{"a path that is no text", []entry{{"a\xff", ""}}, Limits{}, BadTree},
		{"a path that is too long", []entry{{strings.Repeat("long/", 250) + "x", ""}}, Limits{}, BadTree},
	} {
		var b bytes.Buffer
		_, err := Pack(makeTree(t, test.tree), &b, test.limits)
		if f, ok := errors.AsType[*Failure](err); !ok || f.Code != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	dir := t.TempDir()
	must.Succeed(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if f, ok := errors.AsType[*Failure](errOf(Pack(dir, &bytes.Buffer{}, Limits{}))); !ok || f.Code != BadTree {
		t.Errorf("a pipe: %v", f)
	}
}

func errOf[T any](_ T, err error) error { return err }
