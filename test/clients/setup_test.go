// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// desktop are the clients that no test runs, because they need a desktop. The tests of
// internal/clientconfig parse their texts.
var desktop = []string{"claude-desktop", "cursor", "vscode", "windsurf"}

func TestNoTextForAClientIsReadByNoTest(t *testing.T) {
	t.Parallel()
	for _, name := range clientconfig.Names() {
		run := slices.ContainsFunc(All(), func(c Client) bool { return c.config == name })
		if run == slices.Contains(desktop, name) {
			t.Errorf("%s is run by make test-clients: %v, and listed as a client that needs a desktop: %v", name, run, !run)
		}
	}
}

// TestNoClientReadsAConfigurationThatPeopleAreNotGiven holds that a client learns the URL and the
// key of the bridge from the text of internal/clientconfig, where its steps say, and nowhere else.
func TestNoClientReadsAConfigurationThatPeopleAreNotGiven(t *testing.T) {
	t.Parallel()
	const url, key = "http://127.0.0.1:4711/u/alice/mcp", "hb_secret"
	knows := func(content any) bool {
		text := fmt.Sprint(content) + string(must.Value(json.Marshal(content))(t))
		return strings.Contains(text, url) || strings.Contains(text, key)
	}
	for _, c := range All() {
		if c.config == "" {
			continue
		}
		for name, secret := range map[string]string{"with a key": key, "with a login": ""} {
			t.Run(c.Name+" "+name, func(t *testing.T) {
				w := Window{Modules: "/modules", Node: "/bin/node", Home: "/home/x", URL: url, Key: secret, Model: "http://127.0.0.1:1"}
				if own := c.start(w); knows(own.files) || knows(own.env) || knows(own.first) || knows(own.run) {
					t.Errorf("the test itself gives the client the URL or the key: %v", own)
				}
				steps := must.Value(c.steps(w))(t)
				text := strings.ReplaceAll(steps.Text, "YOUR_KEY", key)
				got := must.Value(c.prepare(w))(t)
				places := 0
				for file, content := range got.files {
					if content == text && strings.Contains(steps.How, " ~/"+file) {
						places++
					}
				}
				for _, command := range got.first {
					if command[len(command)-1] == text && strings.HasSuffix(steps.How, "un in a terminal:") {
						places++
					}
				}
				if places != 1 {
					t.Errorf("%q is at %d places of %v, want one, where %q says", text, places, got, steps.How)
				}
				if named := strings.Contains(steps.How, clientconfig.KeyVariable); named != (got.env[clientconfig.KeyVariable] == key) {
					t.Errorf("the variable is %q after %q", got.env[clientconfig.KeyVariable], steps.How)
				}
			})
		}
	}
}
