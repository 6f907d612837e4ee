// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package programbundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/npmregistry"
)

// marks is an install script that leaves a file.
const marks = `node -e "require('node:fs').writeFileSync(process.env.MARK, process.env.npm_package_name)"`

// installed runs what a Job's container runs, in a folder of its own, and returns the tree and
// whether an install script ran.
func installed(t *testing.T, registry string, scripts bool) (tree string, ran bool) {
	t.Helper()
	b := unmade()
	b.Spec.InstallScripts = scripts
	c := desired.InstallJob(b, desired.Installing{MaxBytes: 1 << 30, Env: []string{"npm_config_registry=" + registry, "npm_config_fetch_retries=0"}}).Spec.Template.Spec.InitContainers[0]
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	run := exec.CommandContext(t.Context(), c.Command[0], c.Command[1:]...)
	run.Dir, run.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "MARK=" + mark}
	for _, v := range c.Env {
		run.Env = append(run.Env, v.Name+"="+strings.ReplaceAll(v.Value, c.WorkingDir, dir))
	}
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code := string(must.Value(os.ReadFile(filepath.Join(dir, "exit-code")))(t)); code != "0" {
		t.Fatalf("npm ended with %s: %s", code, must.Value(os.ReadFile(filepath.Join(dir, "log")))(t))
	}
	_, err := os.Stat(mark)
	return filepath.Join(dir, "tree"), err == nil
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
	tree, ran := installed(t, r.URL, false)
	if ran {
		t.Error("an install script ran")
	}
	if _, ran := installed(t, r.URL, true); !ran {
		t.Error("no install script ran although they may")
	}
	packed := &bytes.Buffer{}
	result := must.Value(bundle.Pack(tree, packed, bundle.Limits{}))(t)

	dep.Version, dep.Files = "1.1.0", map[string]string{"index.js": "module.exports = 'a later one'"}
	r.Publish(t, dep)
	asked := len(r.Requests())
	pod := filepath.Join(t.TempDir(), result.Digest.Hex())
	must.Succeed(t, bundle.Unpack(t.Context(), packed, pod, result.Digest, result.Size))
	bins := must.Value(bundle.FromNPM(tree, "server"))(t).Bins
	out := must.Value(exec.CommandContext(t.Context(), "node", filepath.Join(pod, bins["server"])).CombinedOutput())(t)
	if string(out) != "the first" || len(r.Requests()) != asked {
		t.Errorf("the program runs with %q, and the registry was asked for %v", out, r.Requests()[asked:])
	}
}
