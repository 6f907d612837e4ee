// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bundle_test

import (
	"bytes"
	"errors"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/npmregistry"
)

var files = map[string]string{"a.js": "#!/usr/bin/env node\n", "b.js": "// b"}

// packages are those of the tests' registry.
var packages = []npmregistry.Package{
	{Name: "@s/good", Version: "1.0.0", Files: files, Bin: "a.js", License: "MIT", Dependencies: map[string]string{"dep": "^1"}},
	{Name: "dep", Version: "1.2.0", Files: files, Scripts: map[string]string{"postinstall": "exit 1"}, Bin: map[string]string{"d": "./a.js", "e": "b.js"}},
	{Name: "library", Version: "1.0.0", Files: files},
	{Name: "several", Version: "1.0.0", Files: files, Bin: map[string]string{"d": "a.js", "several": "b.js"}},
	{Name: "new", Version: "1.0.0", Engines: map[string]string{"node": ">=99"}},
	{Name: "lost", Version: "1.0.0", Dependencies: map[string]string{"gone": "^1"}},
	{Name: "outdated", Version: "1.0.0", Dependencies: map[string]string{"dep": "^7"}},
}

// install has npm install a package in a folder of its own. It returns the folder, what npm
// wrote, and its error.
func install(t *testing.T, registry, wanted string) (dir, log string, err error) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	c := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--engine-strict",
		"--no-update-notifier", "--fetch-retries=0", "--registry="+registry, "--cache="+home, "--userconfig="+filepath.Join(home, "npmrc"), wanted)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return dir, string(out), err
}

func TestWhatNpmInstallsIsABundle(t *testing.T) {
	t.Parallel()
	r, other := npmregistry.Start(t, packages...), npmregistry.Start(t, packages...)
	dir, log, err := install(t, r.URL, "@s/good@1.0.0")
	if err != nil {
		t.Fatal(log)
	}
	tree := must.Value(bundle.FromNPM(dir, "@s/good"))(t)
	if bin, err := bundle.DefaultBin("@s/good", tree.Bins); err != nil || bin != "good" || tree.Bins[bin] != "node_modules/@s/good/a.js" {
		t.Errorf("programs %v, %q, %v", tree.Bins, bin, err)
	}
	if diff := cmp.Diff([]string{"dep@1.2.0"}, bundle.WithScripts(tree.Packages)); diff != "" || tree.Packages[0].License != "MIT" || tree.Packages[0].Integrity == "" {
		t.Errorf("packages %+v%s", tree.Packages, diff)
	}
	var content bytes.Buffer
	result := must.Value(bundle.Pack(dir, &content, bundle.Limits{}))(t)
	unpacked := filepath.Join(t.TempDir(), "bundle")
	must.Succeed(t, bundle.Unpack(t.Context(), &content, unpacked, result.Digest, result.Size))
	if out, err := exec.CommandContext(t.Context(), "node", filepath.Join(unpacked, tree.Bins["good"])).CombinedOutput(); err != nil {
		t.Errorf("the program does not start: %v\n%s", err, out)
	}

	// Another registry, and another version that came since.
	other.Publish(t, npmregistry.Package{Name: "unrelated", Version: "1.0.0"})
	again, log, err := install(t, other.URL, "@s/good@1.0.0")
	if err != nil {
		t.Fatal(log)
	}
	if second := must.Value(bundle.Pack(again, &bytes.Buffer{}, bundle.Limits{}))(t); second != result {
		t.Errorf("of another registry: %+v, want %+v", second, result)
	}
	if asked := r.Requests(); !slices.Contains(asked, "/@s/good") || !slices.Contains(asked, "/dep/-/dep-1.2.0.tgz") {
		t.Errorf("npm asked for %v", asked)
	}
}

func TestEachFailureOfNpmHasItsCode(t *testing.T) {
	t.Parallel()
	r := npmregistry.Start(t, packages...)
	untrusted := httptest.NewTLSServer(r)
	t.Cleanup(untrusted.Close)
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	nobody := "http://" + l.Addr().String()
	l.Close()
	for _, test := range []struct {
		name, registry, wanted string
		code                   bundle.Code
		says                   string
	}{
		{"a package that nobody published", r.URL, "none@1.0.0", bundle.PackageNotFound, "no package none@1.0.0, or"},
		{"a dependency that nobody published", r.URL, "lost@1.0.0", bundle.PackageNotFound, "gone@^1, which lost@1.0.0 needs"},
		{"a version that nobody published", r.URL, "dep@9.0.0", bundle.VersionNotFound, "no version dep@9.0.0:"},
		{"a version of a dependency that nobody published", r.URL, "outdated@1.0.0", bundle.VersionNotFound, "dep@^7, which outdated@1.0.0 needs"},
		{"a newer Node", r.URL, "new@1.0.0", bundle.NodeTooOld, `requires {"node":">=99"}`},
		{"a registry that is away", nobody, "dep@1.2.0", bundle.RegistryUnreachable, "ECONNREFUSED"},
		{"a registry whose name is unknown", "http://registry.invalid", "dep@1.2.0", bundle.RegistryUnreachable, "registry.invalid"},
		{"a registry that nobody vouches for", untrusted.URL, "dep@1.2.0", bundle.RegistryUnreachable, "self-signed"},
		{"a name that npm does not accept", r.URL, "Bad Name@1.0.0", bundle.InstallFailed, "Its log ends with"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, log, err := install(t, test.registry, test.wanted)
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				t.Fatalf("npm ended with %v\n%s", err, log)
			}
			f := bundle.InstallFailure(test.wanted, log)
			if f.Code != test.code || !strings.Contains(f.Message, test.says) {
				t.Errorf("%s: %s\n%s", f.Code, f.Message, log)
			}
		})
	}
	t.Run("a version that was withdrawn", func(t *testing.T) {
		t.Parallel()
		r := npmregistry.Start(t, packages...)
		r.Publish(t, npmregistry.Package{Name: "dep", Version: "1.3.0"})
		r.Withdraw("dep", "1.3.0")
		if _, log, _ := install(t, r.URL, "dep@1.3.0"); bundle.InstallFailure("dep@1.3.0", log).Code != bundle.VersionNotFound {
			t.Error(log)
		}
	})
}

func TestAPackageWithoutOneProgramHasACode(t *testing.T) {
	t.Parallel()
	r := npmregistry.Start(t, packages...)
	for name, want := range map[string]bundle.Code{"library": bundle.NoProgram, "several": ""} {
		dir, log, err := install(t, r.URL, name)
		if err != nil {
			t.Fatal(log)
		}
		_, err = bundle.DefaultBin(name, must.Value(bundle.FromNPM(dir, name))(t).Bins)
		if f, ok := errors.AsType[*bundle.Failure](err); ok != (want != "") || ok && f.Code != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
