// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheIngressCarriesTheRecipes(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	ingress, err := pick([]string{"ingress"}, false)
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := data(root, ingress[0])
	if err != nil {
		t.Fatal(err)
	}
	layer, err := rootfs(ingress[0], program, shipped...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(header.Name, "/recipe.json") {
			continue
		}
		if header.Mode != 0o644 || header.Uid != 0 {
			t.Errorf("%s: mode %o, owner %d", header.Name, header.Mode, header.Uid)
		}
		if got[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	written, err := filepath.Glob(filepath.Join(root, "config", "recipes", "*", "recipe.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(written) == 0 || len(got) != len(written) {
		t.Errorf("%d recipes in the image, %d in the repository", len(got), len(written))
	}
	for _, file := range written {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := "recipes/" + filepath.Base(filepath.Dir(file)) + "/recipe.json"
		if diff := cmp.Diff(string(content), string(got[name])); diff != "" {
			t.Errorf("%s (-repository +image):\n%s", name, diff)
		}
	}
}

func TestDataComesInOneOrderAndFollowsNoLink(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"config/things/b", "config/things/a/one"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := spec{name: "one", data: []string{"config/things"}}
	got, err := data(root, s)
	if err != nil {
		t.Fatal(err)
	}
	want := []file{
		{path: "things/", mode: 0o755},
		{path: "things/a/", mode: 0o755},
		{path: "things/a/one", mode: 0o644, content: []byte("config/things/a/one")},
		{path: "things/b", mode: 0o644, content: []byte("config/things/b")},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(file{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "config/things/c")); err != nil {
		t.Fatal(err)
	}
	if _, err := data(root, s); err == nil {
		t.Error("a link out of the folder goes into the image")
	}
	if _, err := data(root, spec{name: "one", data: []string{"config/none"}}); err == nil {
		t.Error("an image without its data is built")
	}
}
