// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build clients

package clients

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestVSCodeInstallsWhatItsTextSays has VS Code's own code follow the links of
// internal/clientconfig. It writes the same file as the person who copies the text.
func TestVSCodeInstallsWhatItsTextSays(t *testing.T) {
	t.Parallel()
	nodes := must.Value(filepath.Glob("../e2e/node_modules/node-linux-*/bin/node"))(t)
	if len(nodes) == 0 {
		t.Fatal("there is no node: run make test-clients")
	}
	for name, b := range map[string]clientconfig.Bridge{
		"with a key":   {URL: "https://bridge.example.com/u/alice/mcp", Keyed: true},
		"with a login": {URL: "https://bridge.example.com/u/alice/mcp"},
	} {
		all := clientconfig.Hosted(b)
		steps := all[slices.IndexFunc(all, func(s clientconfig.Steps) bool { return s.Client == "vscode" })]
		want := map[string]any{"inputs": []any{}} // VS Code writes an empty list too.
		must.Succeed(t, json.Unmarshal([]byte(steps.Text), &want))
		if len(steps.Links) != 2 {
			t.Errorf("%s: %d links, want those of VS Code and VS Code Insiders", name, len(steps.Links))
		}
		for _, link := range steps.Links {
			out, err := exec.CommandContext(t.Context(), nodes[0], "links.mjs", link.URL).Output()
			if err != nil {
				t.Fatalf("%s: %s: %v", name, link.URL, err)
			}
			var got map[string]any
			must.Succeed(t, json.Unmarshal(out, &got))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: the link of %s writes another file than the text (-text +link):\n%s", name, link.Title, diff)
			}
		}
	}
}
