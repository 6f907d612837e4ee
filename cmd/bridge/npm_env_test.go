// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/npmregistry"
)

// server is a server over stdio, whose only tool says the version of its dependency.
const server = `#!/usr/bin/env node
const { version } = require("dep/package.json");
const answer = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "real", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "dependency", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "dep is " + version }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined && answer[method]) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answer[method](params) }));
  else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no " + method } }));
});
`

// packages are those of each script's registry.
var packages = []npmregistry.Package{
	{
		Name: "@s/real", Version: "1.0.0", Files: map[string]string{"server.js": server}, Bin: "server.js",
		Dependencies: map[string]string{"dep": "^1"}, OptionalDependencies: map[string]string{"native-x64": "1.0.0", "native-arm64": "1.0.0"},
	},
	{Name: "dep", Version: "1.0.0", Scripts: map[string]string{"install": "echo ran >ran"}},
	{Name: "native-x64", Version: "1.0.0", OS: []string{"linux"}, CPU: []string{"x64"}},
	{Name: "native-arm64", Version: "1.0.0", OS: []string{"linux"}, CPU: []string{"arm64"}},
	{Name: "library", Version: "1.0.0"},
}

func registryOf(ts *testscript.TestScript) *npmregistry.Registry {
	r, _ := ts.Value("registry").(*npmregistry.Registry)
	return r
}

// TestScriptsWithNPM runs testdata/npm: what the commands do with the machine's npm, each script
// against a registry of its own.
func TestScriptsWithNPM(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/npm",
		Setup: func(e *testscript.Env) error {
			r := npmregistry.Start(t, packages...)
			e.Values["registry"] = r
			home, machine := filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "machine")
			for name, value := range map[string]string{
				"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "HOSTED_BRIDGE_SECRETS": "file",
				"TMPDIR": e.WorkDir, "GORACE": "atexit_sleep_ms=0", "CONFIG": filepath.Join(home, ".config", "hosted-bridge"),
				"npm_config_registry": r.URL, "npm_config_cache": filepath.Join(home, "cache"), "npm_config_fetch_retries": "0",
				"PATH": machine + string(os.PathListSeparator) + e.Getenv("PATH"),
			} {
				e.Setenv(name, value)
			}
			return errors.Join(os.Mkdir(home, 0o700), os.Mkdir(machine, 0o700), linkMachines(machine))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"load":   load,
			"unpack": unpack,
			// publish NAME VERSION publishes another version.
			"publish": func(ts *testscript.TestScript, _ bool, args []string) {
				registryOf(ts).Publish(t, npmregistry.Package{Name: args[0], Version: args[1]})
			},
			// requests FILE writes which paths were asked for so far.
			"requests": func(ts *testscript.TestScript, _ bool, args []string) {
				must.Succeed(t, os.WriteFile(ts.MkAbs(args[0]), must.Value(json.MarshalIndent(registryOf(ts).Requests(), "", " "))(t), 0o600))
			},
		},
	})
}

// linkMachines puts the machine's npm and node into a folder: on the PATH, those of the other
// scripts come first.
func linkMachines(folder string) error {
	var errs []error
	for _, program := range []string{"npm", "node"} {
		err := fs.ErrNotExist
		for _, dir := range filepath.SplitList(os.Getenv("PATH"))[1:] {
			if _, err = os.Stat(filepath.Join(dir, program)); err == nil {
				err = os.Symlink(filepath.Join(dir, program), filepath.Join(folder, program))
				break
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unpack puts a bundle's tree into a folder, after it has compared it with its record: unpack FILE
// FOLDER.
func unpack(ts *testscript.TestScript, _ bool, args []string) {
	record, err := bundle.DecodeRecord([]byte(ts.ReadFile(args[0] + ".json")))
	ts.Check(err)
	file, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer file.Close()
	ts.Check(bundle.Unpack(context.Background(), file, ts.MkAbs(args[1]), record.Digest, record.Size))
}
