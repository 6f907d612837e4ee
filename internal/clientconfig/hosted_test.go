// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientconfig

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestSnippetsAreInTheFormThatClientsRead has the texts as the clients themselves read them, JSON
// without white space between its values.
func TestSnippetsAreInTheFormThatClientsRead(t *testing.T) {
	const url = "https://b.example.com/u/alice/mcp"
	want := map[string][3]string{ // With the key of the environment, without a key, and with the key in the text.
		"claude-code": {
			`claude mcp add --scope user --transport http hb URL --header 'Authorization: Bearer ${HB_KEY}'`,
			`claude mcp add --scope user --transport http hb URL`,
			`claude mcp add --scope user --transport http hb URL --header 'Authorization: Bearer KEY'`,
		},
		"cursor": {
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer ${env:HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"url":"URL"}}}`,
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"vscode": {
			`{"inputs":[{"type":"promptString","id":"hb-key","description":"API key","password":true}],` +
				`"servers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${input:hb-key}"}}}}`,
			`{"servers":{"hb":{"type":"http","url":"URL"}}}`,
			`{"servers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"codex": {
			"[mcp_servers.hb]\nurl = \"URL\"\nbearer_token_env_var = \"HB_KEY\"\nrequired = true",
			"[mcp_servers.hb]\nurl = \"URL\"\nrequired = true",
			"[mcp_servers.hb]\nurl = \"URL\"\nhttp_headers = {Authorization = \"Bearer KEY\"}\nrequired = true",
		},
		"gemini": {
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer ${HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL"}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"copilot": {
			`{"mcpServers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${HB_KEY}"},"tools":["*"]}}}`,
			`{"mcpServers":{"hb":{"type":"http","url":"URL","tools":["*"]}}}`,
			`{"mcpServers":{"hb":{"type":"http","url":"URL","headers":{"Authorization":"Bearer KEY"},"tools":["*"]}}}`,
		},
		"opencode": {
			`{"mcp":{"hb":{"type":"remote","url":"URL","headers":{"Authorization":"Bearer {env:HB_KEY}"},"oauth":false}}}`,
			`{"mcp":{"hb":{"type":"remote","url":"URL"}}}`,
			`{"mcp":{"hb":{"type":"remote","url":"URL","headers":{"Authorization":"Bearer KEY"},"oauth":false}}}`,
		},
		"qwen": {
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer ${HB_KEY}"}}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL"}}}`,
			`{"mcpServers":{"hb":{"httpUrl":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"cline": {
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL","headers":{"Authorization":"Bearer YOUR_KEY"}}}}`,
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL"}}}`,
			`{"mcpServers":{"hb":{"type":"streamableHttp","url":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"lmstudio": { // It is not known to log in.
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer YOUR_KEY"}}}}`,
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer YOUR_KEY"}}}}`,
			`{"mcpServers":{"hb":{"url":"URL","headers":{"Authorization":"Bearer KEY"}}}}`,
		},
		"goose": {"URL", "URL", "URL"},
	}
	got := map[string][3]string{}
	for i, b := range []Bridge{{URL: url, Keyed: true}, {URL: url}, {URL: url, Keyed: true, Key: "KEY"}} {
		for _, s := range Hosted(b) {
			text := strings.ReplaceAll(s.Text, url, "URL")
			if strings.HasPrefix(text, "{") {
				text = compact(t, []byte(text))
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

// TestLinksHaveWhatClientsInstall reads each link as its client does.
func TestLinksHaveWhatClientsInstall(t *testing.T) {
	const at = "https://b.example.com/u/alice/mcp"
	inBase64 := func(u *url.URL) string {
		return u.Query().Get("name") + " " + string(must.Value(base64.StdEncoding.DecodeString(u.Query().Get("config")))(t))
	}
	inQuery := func(u *url.URL) string { return must.Value(url.PathUnescape(u.RawQuery))(t) }
	parameters := func(u *url.URL) string {
		q := u.Query()
		return q.Get("type") + " " + q.Get("id") + " " + q.Get("name") + " " + q.Get("url") + " " + strings.Join(q["header"], ",")
	}
	clients := map[string]struct {
		begins string
		read   func(*url.URL) string
		want   [2]string // With the key of the environment, and without a key.
	}{
		"Cursor": {"cursor://anysphere.cursor-deeplink/mcp/install?", inBase64, [2]string{
			`hb {"url":"URL","headers":{"Authorization":"Bearer ${env:HB_KEY}"}}`, `hb {"url":"URL"}`,
		}},
		"VS Code": {"vscode:mcp/install?", inQuery, [2]string{
			`{"name":"hb","type":"http","url":"URL","headers":{"Authorization":"Bearer ${input:hb-key}"},"inputs":[{"type":"promptString","id":"hb-key","description":"API key","password":true}]}`,
			`{"name":"hb","type":"http","url":"URL"}`,
		}},
		"LM Studio": {"lmstudio://add_mcp?", inBase64, [2]string{
			`hb {"url":"URL","headers":{"Authorization":"Bearer YOUR_KEY"}}`, `hb {"url":"URL","headers":{"Authorization":"Bearer YOUR_KEY"}}`,
		}},
		"Goose": {"goose://extension?", parameters, [2]string{"streamable_http hb hb URL Authorization=Bearer YOUR_KEY", "streamable_http hb hb URL "}},
	}
	insiders := clients["VS Code"]
	insiders.begins = "vscode-insiders:mcp/install?"
	clients["VS Code Insiders"] = insiders
	for i, b := range []Bridge{{URL: at, Keyed: true}, {URL: at}} {
		found := 0
		for _, s := range Hosted(b) {
			for _, link := range s.Links {
				client, known := clients[link.Title]
				if found++; !known || !strings.HasPrefix(link.URL, client.begins) {
					t.Errorf("%s: %s", link.Title, link.URL)
					continue
				}
				if got := strings.ReplaceAll(client.read(must.Value(url.Parse(link.URL))(t)), at, "URL"); got != client.want[i] {
					t.Errorf("%s installs\n%s, want\n%s", link.Title, got, client.want[i])
				}
			}
		}
		if found != len(clients) {
			t.Errorf("%d links of %d", found, len(clients))
		}
	}
}

// TestTheKeyAfterALinkIsSaid is of people who followed a link, which has no key.
func TestTheKeyAfterALinkIsSaid(t *testing.T) {
	want := map[string]string{
		"cursor":   "Cursor takes your key from the variable HB_KEY where it starts.",
		"vscode":   "VS Code asks for your key.",
		"lmstudio": "Then put your key in place of YOUR_KEY in ~/.lmstudio/mcp.json.",
		"goose":    "Then put your key in place of YOUR_KEY in the form that opens.",
	}
	said := func(b Bridge) map[string]string {
		all := map[string]string{}
		for _, s := range Hosted(b) {
			if s.AfterLink != "" {
				all[s.Client] = s.AfterLink
			}
		}
		return all
	}
	if diff := cmp.Diff(want, said(Bridge{URL: "URL", Keyed: true})); diff != "" {
		t.Errorf("with a key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"lmstudio": want["lmstudio"]}, said(Bridge{URL: "URL"})); diff != "" {
		t.Errorf("with a login (-want +got):\n%s", diff)
	}
	if got := said(Bridge{URL: "URL", Keyed: true, Key: "KEY"}); len(got) > 0 {
		t.Errorf("with the key in the link: %v", got)
	}
}

// TestNoShellPutsTheKeyOfTheEnvironmentIntoAFile runs the command for Claude Code, which writes its
// arguments into a file, with a program in its place that prints them.
func TestNoShellPutsTheKeyOfTheEnvironmentIntoAFile(t *testing.T) {
	steps := Hosted(Bridge{URL: "URL", Keyed: true})
	i := slices.IndexFunc(steps, func(s Steps) bool { return s.Client == "claude-code" })
	command := exec.CommandContext(t.Context(), "sh", "-c", `claude() { printf '%s\n' "$@"; }; `+steps[i].Text)
	command.Env = []string{KeyVariable + "=secret"}
	want := "mcp\nadd\n--scope\nuser\n--transport\nhttp\nhb\nURL\n--header\nAuthorization: Bearer ${HB_KEY}\n"
	if diff := cmp.Diff(want, string(must.Value(command.Output())(t))); diff != "" {
		t.Errorf("the arguments differ (-want +got):\n%s", diff)
	}
}

// compact parses JSON and returns it without white space between its values.
func compact(t *testing.T, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, json.Compact(&b, content))
	return b.String()
}

// TestNoTextForAClientWithADesktopHasWhatItsDocumentationDoesNotName has the complete files of
// clients that no test can run, with the names of their documentation as of November 2026:
//   - https://modelcontextprotocol.io/docs/develop/connect-local-servers
//   - https://cursor.com/docs/mcp
//   - https://code.visualstudio.com/docs/agents/reference/mcp-configuration
//   - https://docs.windsurf.com/windsurf/cascade/mcp
func TestNoTextForAClientWithADesktopHasWhatItsDocumentationDoesNotName(t *testing.T) {
	program := Bridge{Name: "b", Command: "/p", Args: []string{"-x"}}
	remote := Bridge{Name: "b", URL: "URL"}
	keyed := Bridge{Name: "b", URL: "URL", Keyed: true}
	for _, tt := range []struct {
		client string
		bridge Bridge
		want   string
	}{
		{"claude-desktop", program, `{"mcpServers":{"b":{"command":"/p","args":["-x"]}}}`},
		{"cursor", program, `{"mcpServers":{"b":{"command":"/p","args":["-x"]}}}`},
		{"cursor", remote, `{"mcpServers":{"b":{"url":"URL"}}}`},
		{"cursor", keyed, `{"mcpServers":{"b":{"url":"URL","headers":{"Authorization":"Bearer ${env:HB_KEY}"}}}}`},
		{"vscode", program, `{"servers":{"b":{"type":"stdio","command":"/p","args":["-x"]}}}`},
		{"vscode", remote, `{"servers":{"b":{"type":"http","url":"URL"}}}`},
		{"vscode", keyed, `{"inputs":[{"type":"promptString","id":"hb-key","description":"API key","password":true}],` +
			`"servers":{"b":{"type":"http","url":"URL","headers":{"Authorization":"Bearer ${input:hb-key}"}}}}`},
		{"windsurf", program, `{"mcpServers":{"b":{"command":"/p","args":["-x"]}}}`},
		{"windsurf", remote, `{"mcpServers":{"b":{"serverUrl":"URL"}}}`},
	} {
		client := must.Value(Find(tt.client))(t)
		if diff := cmp.Diff(tt.want, compact(t, must.Value(client.Snippet(tt.bridge))(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.client, diff)
		}
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
