// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// maxLock is the length of package-lock.json in bytes, so that it fits into a record:
	// some 5,000 packages.
	maxLock = 2 << 20
	// maxManifest is the length of a package.json or a METADATA in bytes.
	maxManifest = 1 << 20
)

// Tree is what was installed for a package.
type Tree struct {
	// Bins are the programs of the package: the path of the file of each, from the root of
	// the tree.
	Bins map[string]string
	// Engines are the versions of Node, Python and others that the package asks for.
	Engines  map[string]string
	Packages []Package
	// Lock is the text of package-lock.json, or of pylock.toml.
	Lock string
}

// Package is one package of a tree.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Integrity is the checksum of its archive, as the registry gives it.
	Integrity string `json:"integrity,omitempty"`
	License   string `json:"license,omitempty"`
	// Scripts means that it has install scripts.
	Scripts bool `json:"scripts,omitempty"`
}

// FromNPM reads what npm installed for the package in the folder dir. The error is a
// *Failure when the package is at fault.
func FromNPM(dir, name string) (Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Tree{}, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = root.Close() }() // Its files are closed by themselves.
	var tree Tree
	lock, err := readFile(root, "package-lock.json", maxLock)
	if err != nil {
		return tree, err
	}
	tree.Lock = string(lock)
	if tree.Packages, err = readLock(lock); err != nil {
		return tree, err
	}
	home := "node_modules/" + name
	if !goodPath(home) {
		return tree, failure(BadTree, "%.200q is no name of a package", name)
	}
	text, err := readFile(root, home+"/package.json", maxManifest)
	if err != nil {
		return tree, err
	}
	var manifest struct {
		Bin     json.RawMessage `json:"bin"`
		Engines json.RawMessage `json:"engines"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return tree, failure(BadTree, "package.json of %s is no JSON object: %v", name, err)
	}
	// An array, which very old packages have, says nothing of Node.
	if json.Unmarshal(manifest.Engines, &tree.Engines) != nil {
		tree.Engines = nil
	}
	tree.Bins = readBins(root, home, name, manifest.Bin)
	return tree, nil
}

// readFile reads a regular file of the tree. A link that leads outside is not followed.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure(BadTree, "what was installed lacks %s", name)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, failure(BadTree, "%s is no file", name)
	}
	if info.Size() > limit {
		return nil, failure(TooLarge, "%s has more than %d bytes", name, limit)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}

// readLock reads the packages of a lock file of version 3, sorted by name and version.
func readLock(text []byte) ([]Package, error) {
	var lock struct {
		Version  int `json:"lockfileVersion"`
		Packages map[string]struct {
			Name             string          `json:"name"`
			Version          string          `json:"version"`
			Integrity        string          `json:"integrity"`
			License          json.RawMessage `json:"license"`
			HasInstallScript bool            `json:"hasInstallScript"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil || lock.Version != 3 {
		return nil, failure(BadTree, "package-lock.json is not of version 3, which npm 7 and later write")
	}
	// A package may be in several folders.
	seen := map[Package]bool{}
	for folder, p := range lock.Packages {
		_, name, found := strings.CutLast(folder, "node_modules/")
		if !found {
			continue // The folder itself.
		}
		var license string
		if json.Unmarshal(p.License, &license) != nil {
			license = ""
		}
		seen[Package{
			Name: cmp.Or(p.Name, name), Version: p.Version, Integrity: p.Integrity,
			License: license, Scripts: p.HasInstallScript,
		}] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b Package) int {
		return strings.Compare(a.Name+"\x00"+a.Version+"\x00"+a.Integrity, b.Name+"\x00"+b.Version+"\x00"+b.Integrity)
	}), nil
}

// readBins returns the programs of a package whose files exist. A single path is a program
// with the package's name without its scope, as npm has it.
func readBins(root *os.Root, home, name string, bin json.RawMessage) map[string]string {
	var single string
	listed := map[string]string{}
	if json.Unmarshal(bin, &single) == nil && single != "" {
		listed[unscoped(name)] = single
	} else if json.Unmarshal(bin, &listed) != nil {
		return nil
	}
	bins := map[string]string{}
	for program, file := range listed {
		// As npm does: a name is no path, and a path is one inside the package.
		program = path.Base(program)
		file = home + path.Join("/", file)
		info, err := root.Stat(file)
		if err == nil && info.Mode().IsRegular() && goodPath(file) && goodPath(program) {
			bins[program] = file
		}
	}
	return bins
}

func unscoped(name string) string {
	if strings.HasPrefix(name, "@") {
		_, name, _ = strings.Cut(name, "/")
	}
	return name
}

// DefaultBin returns the name of the program that npx starts for the package: the only one,
// any if all are the same file, or else that with the package's name without its scope. It is
// empty if npx would start none without its name. The error is a *Failure.
func DefaultBin(name string, bins map[string]string) (string, error) {
	names, files := slices.Sorted(maps.Keys(bins)), map[string]bool{}
	for _, file := range bins {
		files[file] = true
	}
	_, named := bins[unscoped(name)]
	switch {
	case len(files) == 0:
		return "", failure(NoProgram, "%s has no program to start: its package.json names none in bin whose file exists. "+
			"Check that it is an MCP server and not a library.", name)
	case named:
		return unscoped(name), nil
	case len(files) == 1:
		return names[0], nil
	}
	return "", nil
}

// WithScripts returns the packages with install scripts, as name@version.
func WithScripts(packages []Package) []string {
	var names []string
	for _, p := range packages {
		if p.Scripts {
			names = append(names, p.Name+"@"+p.Version)
		}
	}
	return names
}
