// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hostedbridge/hostedbridge/hack/helm/chart"
)

const root = "../../.."

func TestConfigIsWhatTheChartRenders(t *testing.T) {
	c, err := chart.Load(filepath.Join(root, "charts/hosted-bridge"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := render(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, "config", name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("config/%s is not what the chart renders: run make generate", name)
		}
	}
}

// TestNoFlagNamesAnImageThatAnOverlayCannotReplace has the images of flags come from the ConfigMap:
// Kustomize replaces an image only where it is a container's.
func TestNoFlagNamesAnImageThatAnOverlayCannotReplace(t *testing.T) {
	c, err := chart.Load(filepath.Join(root, "charts/hosted-bridge"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := render(c)
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`- --\S*hosted-bridge/\S*:dev`)
	for name, text := range files {
		if found := flag.FindAllString(text, -1); len(found) > 0 {
			t.Errorf("config/%s: %q", name, found)
		}
	}
}

func TestDefinitionsAreTheSameAfterwardsAndNoOthers(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	put := func(folder, name, text string) {
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(from, "a.yaml", "new")
	put(to, "a.yaml", "old")
	put(to, "b.yaml", "gone from the source")
	tree, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Close() }()
	if err := copyDefinitions(tree, "from", "to"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || left[0].Name() != "a.yaml" {
		t.Fatalf("left are %v (%v)", left, err)
	}
	if text, _ := os.ReadFile(filepath.Join(to, "a.yaml")); string(text) != "new" {
		t.Errorf("a.yaml says %q", text)
	}
}

func TestATemplateWithoutAPlaceIsNamed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: x\nversion: 0.1.0\n",
		"values.yaml":        "image: {}\n",
		"templates/new.yaml": "kind: New\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := chart.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := render(c); err == nil {
		t.Error("a template that nobody has placed is passed over")
	}
}
