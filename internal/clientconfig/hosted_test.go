// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientconfig

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestSnippetsAreInTheFormThatClientsRead has the texts as the clients themselves read them,
// without white space but for that of commands.
func TestSnippetsAreInTheFormThatClientsRead(t *testing.T) {
	const url = "https://b.example.com/u/alice/mcp"
	want := map[string][3]string{ // With the key of the environment, without a key, and with the key in the text.
		"claude-code": {
			`claude mcp add --transport http hb URL --header "Authorization: Bearer $HB_KEY"`,
			`claude mcp add --transport http hb URL`,
			`claude mcp add --transport http hb URL --header "Authorization: Bearer KEY"`,
		},
		"cursor": {
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer${env:HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"url":"URL"}}}`,
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"BearerKEY"}}}}`,
		},
		"vscode": {
			`{"inputs":[{"type":"promptString","id":"key","description":"APIkey","password":true}],` +
				`"servers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer${input:key}"}}}}`,
			`{"servers":{"hb":{"type":"http","url":"URL"}}}`,
			`{"servers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"BearerKEY"}}}}`,
		},
		"codex": {
			`[mcp_servers.hb]url="URL"bearer_token_env_var="HB_KEY"required=true`,
			`[mcp_servers.hb]url="URL"required=true`,
			`[mcp_servers.hb]url="URL"http_headers={Authorization="BearerKEY"}required=true`,
		},
		"gemini": {
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer${HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL"}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"BearerKEY"}}}}`,
		},
		"copilot": {
			`{"mcpServers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer${HB_KEY}"},"tools":["*"]}}}`,
			`{"mcpServers":{"hb":{"type":"http","url":"URL","tools":["*"]}}}`,
			`{"mcpServers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"BearerKEY"},"tools":["*"]}}}`,
		},
		"opencode": {
			`{"mcp":{"hb":{"type":"remote","url":"URL","headers":{"Authorization":"Bearer{env:HB_KEY}"},"oauth":false}}}`,
			`{"mcp":{"hb":{"type":"remote","url":"URL"}}}`,
			`{"mcp":{"hb":{"type":"remote","url":"URL","headers":{"Authorization":"BearerKEY"},"oauth":false}}}`,
		},
		"qwen": {
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer${HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL"}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"BearerKEY"}}}}`,
		},
		"cline": {
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL","headers":{"Authorization":"BearerYOUR_KEY"}}}}`,
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL"}}}`,
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL","headers":{"Authorization":"BearerKEY"}}}}`,
		},
	}
	got := map[string][3]string{}
	for i, b := range []Bridge{{URL: url, Keyed: true}, {URL: url}, {URL: url, Keyed: true, Key: "KEY"}} {
		for _, s := range Hosted(b) {
			text := strings.ReplaceAll(s.Text, url, "URL")
			if !strings.HasPrefix(text, "claude ") {
				text = strings.NewReplacer(" ", "", "\n", "").Replace(text)
			}
			of := got[s.Client]
			of[i] = text
			got[s.Client] = of
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePageOfClientsHasTheirText(t *testing.T) {
	page := string(must.Value(os.ReadFile("../../docs/client-setup.md"))(t))
	for _, s := range Hosted(Bridge{URL: "https://bridge.example.com/u/alice/mcp", Keyed: true}) {
		section := "## " + s.Title + "\n\n" + s.How + "\n\n"
		if !strings.Contains(page, section) || !strings.Contains(page, "\n"+s.Text+"\n```\n") {
			t.Errorf("docs/client-setup.md lacks\n%s%s", section, s.Text)
		}
	}
}
