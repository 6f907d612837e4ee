// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestInitGivesNoClientAnotherTextThanTheDocumentation has the program print and write the entry of
// each client that docs/laptop.md lists. docs/client-setup.md and the console have the same texts.
func TestInitGivesNoClientAnotherTextThanTheDocumentation(t *testing.T) {
	t.Parallel()
	page := string(must.Value(os.ReadFile("../../docs/laptop.md"))(t))
	if list := "Supported clients: `" + strings.Join(clientconfig.Names(), "`, `") + "`."; !strings.Contains(page, list) {
		t.Errorf("docs/laptop.md lacks %q", list)
	}
	bridge := must.Value(exec.LookPath("bridge"))(t)
	for _, name := range clientconfig.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, client := t.TempDir(), must.Value(clientconfig.Find(name))(t)
			b := clientconfig.Bridge{Name: "hosted-bridge", URL: "http://127.0.0.1:3100/mcp"}
			args := []string{"init", "--client", name, "--http", "3100"}
			if name == "claude-desktop" { // It takes no URL.
				b.Command, b.URL, args = must.Value(filepath.EvalSymlinks(bridge))(t), "", args[:3]
			}
			run := func(args ...string) string {
				command := exec.CommandContext(t.Context(), bridge, args...)
				command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
					"HOSTED_BRIDGE_SECRETS=file", "GORACE=atexit_sleep_ms=0")
				return string(must.Value(command.Output())(t))
			}
			want, printed := string(must.Value(client.Snippet(b))(t)), run(args...)
			if diff := cmp.Diff(want, printed); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			run(append(args, "--write")...)
			written := string(must.Value(os.ReadFile(client.File(home, runtime.GOOS)))(t))
			if diff := cmp.Diff(want, written); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}
