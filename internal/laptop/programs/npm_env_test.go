// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package programs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/npmregistry"
)

var files = map[string]string{"a.js": "#!/usr/bin/env node\n"}

// packages are those of the tests' registry: a program with a dependency that has an install
// script, and packages of other systems, of which one is missing.
var packages = []npmregistry.Package{
	{
		Name: "@s/good", Version: "1.0.0", Files: files, Bin: "a.js", License: "MIT", Dependencies: map[string]string{"dep": "^1"},
		OptionalDependencies: map[string]string{"elsewhere": "1.0.0", "missing": "1.0.0"}, Engines: map[string]string{"node": ">=18"},
	},
	{Name: "dep", Version: "1.2.0", Files: files, Scripts: map[string]string{"postinstall": "echo ran >ran"}, Engines: map[string]string{"node": ">=99"}},
	{Name: "elsewhere", Version: "1.0.0", OS: []string{"haiku"}},
	{Name: "new", Version: "1.0.0", Bin: "a.js", Engines: map[string]string{"node": ">=99"}},
}

// useRegistry has npm use a registry, and an npmrc in which a person has set what would change an
// install. The environment is the process's, so these tests do not run side by side.
func useRegistry(t *testing.T, r *npmregistry.Registry) {
	t.Helper()
	home := t.TempDir()
	npmrc := "ignore-scripts=false\nomit=optional\npackage-lock=false\nsave=false\ninstall-strategy=nested\nlegacy-peer-deps=true\n"
	must.Succeed(t, os.WriteFile(filepath.Join(home, "npmrc"), []byte(npmrc), 0o600))
	for name, value := range map[string]string{
		"npm_config_registry": r.URL, "npm_config_cache": filepath.Join(home, "cache"),
		"npm_config_userconfig": filepath.Join(home, "npmrc"), "npm_config_fetch_retries": "0",
	} {
		t.Setenv(name, value)
	}
}

func TestALockFileNamesNeitherRegistryNorWhatNpmDoesNotNeed(t *testing.T) {
	useRegistry(t, npmregistry.Start(t, packages...))
	lock, missing, err := programs.Freeze(t.Context(), "@s/good", "1.0.0")
	must.Succeed(t, err)
	if diff := cmp.Diff([]string{"missing"}, missing); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]bool{
		"127.0.0.1": false, "MIT": false, ">=99": false, `"missing"`: false,
		`"node":">=18"`: true, "sha512-": true, `"node_modules/elsewhere"`: true, `"hasInstallScript":true`: true,
	} {
		if strings.Contains(string(lock), text) != want {
			t.Errorf("%s is in the lock file: %t\n%s", text, !want, lock)
		}
	}
}

func TestAFrozenInstallNeitherTakesLaterVersionsNorRunsScripts(t *testing.T) {
	r := npmregistry.Start(t, packages...)
	useRegistry(t, r)
	lock, _, err := programs.Freeze(t.Context(), "@s/good", "1.0.0")
	must.Succeed(t, err)
	r.Publish(t, npmregistry.Package{Name: "dep", Version: "1.3.0"})
	dir := t.TempDir()
	must.Succeed(t, programs.Clean(t.Context(), dir, "@s/good", "1.0.0", lock))
	tree := must.Value(bundle.FromNPM(dir, "@s/good"))(t)
	if diff := cmp.Diff([]string{"dep@1.2.0"}, bundle.WithScripts(tree.Packages)); diff != "" || tree.Bins["good"] != "node_modules/@s/good/a.js" {
		t.Errorf("%v%s", tree.Bins, diff)
	}
	for name, there := range map[string]bool{"dep/a.js": true, "dep/ran": false, "elsewhere": false} {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPackageWithOtherBytesIsNotInstalled(t *testing.T) {
	useRegistry(t, npmregistry.Start(t, packages...))
	lock, _, err := programs.Freeze(t.Context(), "@s/good", "1.0.0")
	must.Succeed(t, err)
	forged := slices.Clone(packages)
	forged[1].Files = map[string]string{"a.js": "// forged"}
	useRegistry(t, npmregistry.Start(t, forged...))
	err = programs.Clean(t.Context(), t.TempDir(), "@s/good", "1.0.0", lock)
	if f, ok := errors.AsType[*bundle.Failure](err); !ok || !strings.Contains(f.Message, "EINTEGRITY") {
		t.Errorf("%v", err)
	}
}

func TestWhyNothingIsInstalledIsSaid(t *testing.T) {
	useRegistry(t, npmregistry.Start(t, packages...))
	if _, _, err := programs.Freeze(t.Context(), "none", "1.0.0"); !hasCode(err, bundle.PackageNotFound) {
		t.Errorf("a package that nobody published: %v", err)
	}
	lock, _, err := programs.Freeze(t.Context(), "new", "1.0.0")
	must.Succeed(t, err)
	if err := programs.Clean(t.Context(), t.TempDir(), "new", "1.0.0", lock); !hasCode(err, bundle.NodeTooOld) {
		t.Errorf("a newer Node.js: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := programs.Clean(t.Context(), t.TempDir(), "new", "1.0.0", lock); err == nil || !strings.Contains(err.Error(), "install Node.js") {
		t.Errorf("without Node.js: %v", err)
	}
}

func hasCode(err error, code bundle.Code) bool {
	f, ok := errors.AsType[*bundle.Failure](err)
	return ok && f.Code == code
}
