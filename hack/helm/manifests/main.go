// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manifests derives what config/ and the chart have of each other: the
// manifests that Kustomize applies are rendered from the chart, and the chart's
// CustomResourceDefinitions are those of config/crd/bases. `make generate` runs
// it with the repository's root as its only argument.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hostedbridge/hostedbridge/hack/helm/chart"
)

// manifests has, for each template that renders something by itself, its file in
// config. Without one it is not for Kustomize.
var manifests = map[string]string{
	"operator.yaml":       "operator/operator.yaml",
	"keybroker.yaml":      "keybroker/keybroker.yaml",
	"ingress.yaml":        "ingress/ingress.yaml",
	"store.yaml":          "store/store.yaml",
	"pdb.yaml":            "availability/pdb.yaml",
	"priorityclass.yaml":  "availability/priorityclass.yaml",
	"rbac-operator.yaml":  "rbac/operator.yaml",
	"rbac-keybroker.yaml": "rbac/keybroker.yaml",
	"rbac-ingress.yaml":   "rbac/ingress.yaml",
	"rbac-users.yaml":     "rbac/users.yaml",

	"admission-ingress.yaml":  "rbac/admission.yaml",
	"admission-catalog.yaml":  "rbac/catalog-admission.yaml",
	"admission-tenants.yaml":  "rbac/tenants-admission.yaml",
	"admission-operator.yaml": "rbac/operator-admission.yaml",
	"isolation-policies.yaml": "isolation/policies.yaml",
	// Backups have a target only in values.
	"backup.yaml": "", "rbac-backup.yaml": "",
	// A namespace of tenants is one in config/samples for Kustomize.
	"isolation-namespaces.yaml": "",
	// Kustomize makes the ConfigMaps from config/default/installation.env and
	// tiers.yaml, and CustomResourceDefinitions are where they come from.
	"config.yaml": "",
	"crds.yaml":   "",
	"NOTES.txt":   "",
}

const header = "# Rendered from charts/hosted-bridge/templates/%s by make generate: change it there.\n"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manifests ROOT")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "manifests: %v\n", err)
		os.Exit(1)
	}
}

// generate writes the files below root. The definitions come first: the chart
// that is rendered has them.
func generate(root string) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // What is written is closed by itself.
	const folder = "charts/hosted-bridge"
	if err := copyDefinitions(tree, "config/crd/bases", folder+"/files/crds"); err != nil {
		return fmt.Errorf("copy CustomResourceDefinitions: %w", err)
	}
	c, err := chart.Load(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	files, err := render(c)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := write(tree, "config/"+name, text); err != nil {
			return err
		}
	}
	return errors.Join(generateNamespaced(c, tree), generateOnboarding(c, tree), generateBackup(c, tree))
}

// render returns the files of config/ by their path there. They have the images
// that `make image` builds; an overlay names others.
func render(c *chart.Chart) (map[string]string, error) {
	values := map[string]any{"image": map[string]any{"tag": "dev"}}
	release := chart.Release{Name: "hosted-bridge", Namespace: "hosted-bridge-system", Service: "Kustomize"}
	rendered, err := c.Render(release, values)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var errs []error
	for template, text := range rendered {
		file, known := manifests[template]
		if _, err := chart.Documents(text); err != nil && file != "" {
			errs = append(errs, fmt.Errorf("%s: %w", template, err))
		}
		switch {
		case !known && !strings.HasPrefix(template, "tests/"):
			errs = append(errs, fmt.Errorf("%s renders something by itself and has no file in config: give it one in hack/helm/manifests, or an empty one", template))
		case file != "":
			files[file] = fmt.Sprintf(header, template) + text
		}
	}
	return files, errors.Join(errs...)
}

// copyDefinitions makes the second folder one with the YAML files of the first.
func copyDefinitions(tree *os.Root, from, to string) error {
	sources, err := fs.Glob(tree.FS(), from+"/*.yaml")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, source := range sources {
		known[path.Base(source)] = true
		text, err := tree.ReadFile(source)
		if err != nil {
			return err
		}
		if err := write(tree, path.Join(to, path.Base(source)), string(text)); err != nil {
			return err
		}
	}
	there, err := fs.ReadDir(tree.FS(), to)
	for _, entry := range there {
		if !known[entry.Name()] {
			err = errors.Join(err, tree.Remove(path.Join(to, entry.Name())))
		}
	}
	return err
}

// write leaves a file alone that says it already: its time is what make looks at.
func write(tree *os.Root, file, text string) error {
	if old, err := tree.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	if err := tree.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	return tree.WriteFile(file, []byte(text), 0o644)
}
