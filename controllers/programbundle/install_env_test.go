// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package programbundle

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/npmregistry"
	"github.com/hostedbridge/hostedbridge/test/pypiindex"
)

// marks is an install script that leaves a file.
const marks = `node -e "require('node:fs').writeFileSync(process.env.MARK, process.env.npm_package_name)"`

// attempt is what a Job's first container left: a folder with the tree and the log, the code that the
// install ended with, and whether code of the package ran, which leaves a file.
type attempt struct {
	dir, code string
	ran       bool
}

// installed runs what a Job's first container runs, in a folder of its own.
func installed(t *testing.T, install v1alpha1.Install, scripts bool, path string, variables ...string) attempt {
	t.Helper()
	b := unmade()
	b.Spec.Install, b.Spec.InstallScripts = install, scripts
	c := bridgeobjects.InstallJob(b, bridgeobjects.Installing{MaxBytes: 1 << 30, Env: variables}).Spec.Template.Spec.InitContainers[0]
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	run := exec.CommandContext(t.Context(), c.Command[0], c.Command[1:]...)
	run.Dir, run.Env = dir, []string{"PATH=" + path, "MARK=" + mark}
	for _, v := range c.Env {
		run.Env = append(run.Env, v.Name+"="+strings.ReplaceAll(v.Value, c.WorkingDir, dir))
	}
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, err := os.Stat(mark)
	return attempt{dir: dir, code: string(must.Value(os.ReadFile(filepath.Join(dir, "exit-code")))(t)), ran: err == nil}
}

// tree returns the folder with what was installed, and fails the test if nothing was.
func (a attempt) tree(t *testing.T) string {
	t.Helper()
	if a.code != "0" {
		t.Fatalf("the install ended with %s: %s", a.code, must.Value(os.ReadFile(filepath.Join(a.dir, "log")))(t))
	}
	return filepath.Join(a.dir, "tree")
}

// inPod returns a tree as the pod of a bridge has it.
func inPod(t *testing.T, tree string) string {
	t.Helper()
	packed := &bytes.Buffer{}
	result := must.Value(bundle.Pack(tree, packed, bundle.Limits{}))(t)
	pod := filepath.Join(t.TempDir(), result.Digest.Hex())
	must.Succeed(t, bundle.Unpack(t.Context(), packed, pod, result.Digest, result.Size))
	return pod
}

// TestNeitherInstallScriptsNorLaterDependenciesRunBesideSecrets has a package whose install
// script leaves a mark, and a later version of its dependency that would say so.
func TestNeitherInstallScriptsNorLaterDependenciesRunBesideSecrets(t *testing.T) {
	server := npmregistry.Package{
		Name: "server", Version: "1.2.3", Bin: "index.js", Dependencies: map[string]string{"dep": "^1"}, Scripts: map[string]string{"install": marks},
		Files: map[string]string{"index.js": "#!/usr/bin/env node\nprocess.stdout.write(require('dep'))"},
	}
	dep := npmregistry.Package{Name: "dep", Version: "1.0.0", Scripts: map[string]string{"postinstall": marks}, Files: map[string]string{"index.js": "module.exports = 'the first'"}}
	r := npmregistry.Start(t, server, dep)
	install := func(scripts bool) attempt {
		return installed(t, unmade().Spec.Install, scripts, os.Getenv("PATH"), "npm_config_registry="+r.URL, "npm_config_fetch_retries=0")
	}
	first := install(false)
	tree := first.tree(t)
	if first.ran {
		t.Error("an install script ran")
	}
	if !install(true).ran {
		t.Error("no install script ran although they may")
	}

	dep.Version, dep.Files = "1.1.0", map[string]string{"index.js": "module.exports = 'a later one'"}
	r.Publish(t, dep)
	asked := len(r.Requests())
	pod := inPod(t, tree)
	bins := must.Value(bundle.FromNPM(tree, "server"))(t).Bins
	out := must.Value(exec.CommandContext(t.Context(), "node", filepath.Join(pod, bins["server"])).CombinedOutput())(t)
	if string(out) != "the first" || len(r.Requests()) != asked {
		t.Errorf("the program runs with %q, and the registry was asked for %v", out, r.Requests()[asked:])
	}
}

// notes is a package of Python with a program that says what it sees of its surroundings.
var notes = pypiindex.Package{
	Name: "notes", Version: "1.2.3", Requires: []string{"dep>=1"}, Scripts: map[string]string{"notes": "notes:main"}, License: "MIT", RequiresPython: ">=3.8",
	Files: map[string]string{"notes.py": `import dep, importlib.util, os, subprocess, sys
def main():
    child = subprocess.run([sys.executable, "-c", "import dep; print(dep.says)"], capture_output=True, text=True).stdout.strip()
    print(dep.says, child, dep.__cached__ and os.path.exists(dep.__cached__), importlib.util.find_spec("pip"), *sys.argv[1:])
`},
}

// starter returns what starts the program of notes in a pod that has the tree in this folder.
func starter(t *testing.T, pod string) func(args ...string) string {
	t.Helper()
	tmp := t.TempDir()
	return func(args ...string) string {
		t.Helper()
		command := append([]string{"-IS", filepath.Join(pod, bundling.Launcher), filepath.Join(pod, "bin/notes")}, args...)
		run := exec.CommandContext(t.Context(), "python3", command...)
		run.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp}
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

// TestNeitherBuildsNorLaterDependenciesOfPythonRunBesideSecrets has a program whose dependency has a later
// version that would say so. It starts with the hash of each archive known, without the index, from compiled
// files, again from the same folder, and writes nothing into the tree.
func TestNeitherBuildsNorLaterDependenciesOfPythonRunBesideSecrets(t *testing.T) {
	dep := pypiindex.Package{Name: "dep", Version: "1.0.0", Files: map[string]string{"dep.py": "says = 'the first'\n"}}
	x := pypiindex.Start(t, notes, dep)
	tree := installed(t, ofPython("notes"), false, pypiindex.UV(t), "UV_DEFAULT_INDEX="+x.URL).tree(t)
	found := must.Value(bundle.FromPyPI(tree, "notes"))(t)
	if program := must.Value(bundle.DefaultScript("notes", found.Bins))(t); found.Bins[program] != "bin/notes" || found.Engines["python"] != ">=3.8" {
		t.Errorf("programs %v, engines %v", found.Bins, found.Engines)
	}
	for i, want := range []string{"dep@1.0.0 ", "notes@1.2.3 MIT"} {
		if p := found.Packages[i]; p.Name+"@"+p.Version+" "+p.License != want || !strings.HasPrefix(p.Integrity, "sha256-") {
			t.Errorf("package %+v", p)
		}
	}

	dep.Version, dep.Files = "1.1.0", map[string]string{"dep.py": "says = 'a later one'\n"}
	x.Publish(t, dep)
	asked := len(x.Requests())
	pod := inPod(t, tree)
	start := starter(t, pod)
	for _, args := range [][]string{{"one", "--two"}, {"three"}} {
		if got, want := start(args...), "the first the first True None "+strings.Join(args, " "); got != want || len(x.Requests()) != asked {
			t.Errorf("the program runs with %q, want %q, and the index was asked for %v", got, want, x.Requests()[asked:])
		}
	}
	if again := must.Value(bundle.Pack(pod, io.Discard, bundle.Limits{}))(t); again.Digest.Hex() != filepath.Base(pod) {
		t.Error("the program wrote into the tree")
	}
	other := strings.ReplaceAll(string(must.Value(os.ReadFile(filepath.Join(pod, bundling.Launcher)))(t)), "cpython-", "cpython-9")
	must.Succeed(t, os.Remove(filepath.Join(pod, bundling.Launcher)))
	must.Succeed(t, os.WriteFile(filepath.Join(pod, bundling.Launcher), []byte(other), 0o600))
	out, err := exec.CommandContext(t.Context(), "python3", "-IS", filepath.Join(pod, bundling.Launcher), filepath.Join(pod, "bin/notes")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "delete its ProgramBundle to have it installed again") {
		t.Errorf("with another Python: %v, %s", err, out)
	}
}

// TestAPackageThatHasToBeBuiltRunsNothingUnlessItMay has a package whose build leaves a mark.
func TestAPackageThatHasToBeBuiltRunsNothingUnlessItMay(t *testing.T) {
	x := pypiindex.Start(t, pypiindex.Package{Name: "built", Version: "1.2.3", Source: true, Files: map[string]string{
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
		"backend.py": `import os, zipfile
open(os.environ["MARK"], "w").close()
def build_wheel(folder, settings=None, metadata=None):
    with zipfile.ZipFile(folder + "/built-1.2.3-py3-none-any.whl", "w") as z:
        z.writestr("built-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: built\nVersion: 1.2.3\n")
        z.writestr("built-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("built-1.2.3.dist-info/RECORD", "")
    return "built-1.2.3-py3-none-any.whl"
`,
	}})
	path := pypiindex.UV(t)
	if a := installed(t, ofPython("built"), false, path, "UV_DEFAULT_INDEX="+x.URL); a.code == "0" || a.ran {
		t.Errorf("the install ended with %s, built: %t", a.code, a.ran)
	}
	allowed := installed(t, ofPython("built"), true, path, "UV_DEFAULT_INDEX="+x.URL)
	if allowed.tree(t); !allowed.ran {
		t.Error("the package was not built although it may be")
	}
}

// TestAnImageWithoutUVIsSaidToHaveNone has authorities too, which uv trusts beside those of the image.
func TestAnImageWithoutUVIsSaidToHaveNone(t *testing.T) {
	a := installed(t, ofPython("notes"), false, "/usr/bin:/bin", "AUTHORITIES=PEM of the proxy")
	log := string(must.Value(os.ReadFile(filepath.Join(a.dir, "log")))(t))
	f := bundle.UVFailure("notes@1.2.3", log)
	if a.code == "0" || f.Code != bundle.InstallFailed || !strings.Contains(f.Message, "uv is not on the PATH of the image") {
		t.Errorf("the install ended with %s: %s", a.code, f.Message)
	}
	if trusted := string(must.Value(os.ReadFile(filepath.Join(a.dir, "home/authorities.pem")))(t)); !strings.HasSuffix(trusted, "PEM of the proxy") {
		t.Errorf("uv trusts %q", trusted)
	}
}

func ofPython(name string) v1alpha1.Install {
	return v1alpha1.Install{Method: v1alpha1.InstallUVX, Package: name, Version: "1.2.3"}
}
