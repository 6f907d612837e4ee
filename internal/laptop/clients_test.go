// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestSnippets(t *testing.T) {
	program, remote := Entry{Command: "/opt/bridge"}, Entry{URL: "http://127.0.0.1:3100/mcp"}
	tests := map[string]struct {
		client string
		entry  Entry
		want   string // compact; empty for a refusal
	}{
		"Claude Code, a program":   {"claude-code", program, `{"mcpServers":{"hosted-bridge":{"type":"stdio","command":"/opt/bridge","args":[]}}}`},
		"Claude Code, a URL":       {"claude-code", remote, `{"mcpServers":{"hosted-bridge":{"type":"http","url":"http://127.0.0.1:3100/mcp"}}}`},
		"Cursor, a configuration":  {"cursor", Entry{Command: "/opt/bridge", Config: "/x/c.json"}, `{"mcpServers":{"hosted-bridge":{"command":"/opt/bridge","args":["--config","/x/c.json"]}}}`},
		"Codex, a configuration":   {"codex", Entry{Command: "/opt/bridge", Config: "/x/c.json"}, `[mcp_servers.hosted-bridge]command="/opt/bridge"args=["--config","/x/c.json"]`},
		"Claude Desktop":           {"claude-desktop", program, `{"mcpServers":{"hosted-bridge":{"command":"/opt/bridge","args":[]}}}`},
		"Claude Desktop, a URL":    {"claude-desktop", remote, ""},
		"Cursor, a URL":            {"cursor", remote, `{"mcpServers":{"hosted-bridge":{"url":"http://127.0.0.1:3100/mcp"}}}`},
		"VS Code":                  {"vscode", program, `{"servers":{"hosted-bridge":{"type":"stdio","command":"/opt/bridge","args":[]}}}`},
		"Windsurf, a URL":          {"windsurf", remote, `{"mcpServers":{"hosted-bridge":{"serverUrl":"http://127.0.0.1:3100/mcp"}}}`},
		"Gemini, a URL":            {"gemini", remote, `{"mcpServers":{"hosted-bridge":{"httpUrl":"http://127.0.0.1:3100/mcp"}}}`},
		"Codex, a program":         {"codex", program, `[mcp_servers.hosted-bridge]command="/opt/bridge"args=[]`},
		"Codex, a URL":             {"codex", remote, `[mcp_servers.hosted-bridge]url="http://127.0.0.1:3100/mcp"`},
		"Copilot CLI, a program":   {"copilot", program, `{"mcpServers":{"hosted-bridge":{"type":"local","command":"/opt/bridge","args":[],"tools":["*"]}}}`},
		"opencode, a program":      {"opencode", Entry{Command: "/opt/bridge", Config: "/x/c.json"}, `{"mcp":{"hosted-bridge":{"type":"local","command":["/opt/bridge","--config","/x/c.json"]}}}`},
		"opencode, a URL":          {"opencode", remote, `{"mcp":{"hosted-bridge":{"type":"remote","url":"http://127.0.0.1:3100/mcp"}}}`},
		"Qwen Code, a URL":         {"qwen", remote, `{"mcpServers":{"hosted-bridge":{"httpUrl":"http://127.0.0.1:3100/mcp"}}}`},
		"Cline, a URL":             {"cline", remote, `{"mcpServers":{"hosted-bridge":{"type":"streamableHttp","url":"http://127.0.0.1:3100/mcp"}}}`},
		"a client that is unknown": {"notepad", program, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client, err := clientconfig.Find(tt.client)
			var b []byte
			if err == nil {
				b, err = Snippet(client, tt.entry)
			}
			if (err == nil) != (tt.want != "") {
				t.Fatal(err)
			}
			if got := strings.NewReplacer(" ", "", "\n", "").Replace(string(b)); got != tt.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestAClientsFileKeepsEverythingElse(t *testing.T) {
	client := must.Value(clientconfig.Find("cursor"))(t)
	codex := must.Value(clientconfig.Find("codex"))(t)
	entry := Entry{URL: "http://127.0.0.1:1/mcp"}
	ours := "    \"hosted-bridge\": {\n      \"url\": \"http://127.0.0.1:1/mcp\"\n    }\n  }"
	tests := map[string]struct {
		client        clientconfig.Client
		before, after string // after is empty for a refusal
	}{
		"no file":                 {client, "", "{\n  \"mcpServers\": {\n" + ours + "\n}\n"},
		"an empty file":           {client, "\n", "{\n  \"mcpServers\": {\n" + ours + "\n}\n"},
		"other servers and more":  {client, `{"z":1.50,"mcpServers":{"x":{"url":"<y>"}},"a":null}`, "{\n  \"z\": 1.50,\n  \"mcpServers\": {\n    \"x\": {\n      \"url\": \"<y>\"\n    },\n" + ours + ",\n  \"a\": null\n}\n"},
		"an entry of before":      {client, `{"mcpServers":{"hosted-bridge":{"command":"x"}}}`, "{\n  \"mcpServers\": {\n" + ours + "\n}\n"},
		"the same entry":          {client, `{"mcpServers":{"hosted-bridge":{"url":"http://127.0.0.1:1/mcp"}}}`, `{"mcpServers":{"hosted-bridge":{"url":"http://127.0.0.1:1/mcp"}}}`},
		"a file with comments":    {client, "{ // mine\n}", ""},
		"another kind of file":    {client, "[]", ""},
		"servers of another kind": {client, `{"mcpServers":[]}`, ""},
		"Codex' file":             {codex, "# mine\nmodel = \"x\"\n\n\n", "# mine\nmodel = \"x\"\n\n[mcp_servers.hosted-bridge]\nurl = \"http://127.0.0.1:1/mcp\"\n"},
		"Codex' same entry":       {codex, "[mcp_servers.hosted-bridge]\nurl = \"http://127.0.0.1:1/mcp\"\n", "[mcp_servers.hosted-bridge]\nurl = \"http://127.0.0.1:1/mcp\"\n"},
		"Codex' entry in quotes":  {codex, "[ mcp_servers . 'hosted-bridge' ]\nurl = \"x\"\n", ""},
		"Codex' other entry":      {codex, "[mcp_servers.hosted-bridge]\nurl = \"x\"\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "file")
			if tt.before != "" {
				must.Succeed(t, WriteFile(path, []byte(tt.before)))
			}
			backup, changed, err := Write(tt.client, path, entry)
			if tt.after == "" {
				if b, _ := os.ReadFile(path); err == nil || string(b) != tt.before {
					t.Errorf("%s, %v", b, err)
				}
				return
			}
			b, readErr := os.ReadFile(path)
			if err != nil || readErr != nil {
				t.Fatal(err, readErr)
			}
			if diff := cmp.Diff(tt.after, string(b)); diff != "" {
				t.Error(diff)
			}
			if changed != (tt.before != tt.after) || (backup != "") != (changed && tt.before != "") {
				t.Errorf("changed %v, backup %q", changed, backup)
			}
			if backup != "" {
				if b, err := os.ReadFile(backup); err != nil || string(b) != tt.before {
					t.Errorf("the backup is %s, %v", b, err)
				}
			}
		})
	}
}

func TestWhereClientsHaveTheirFiles(t *testing.T) {
	for want, of := range map[string][2]string{
		"/h/.config/Claude/claude_desktop_config.json":                     {"claude-desktop", "linux"},
		"/h/Library/Application Support/Claude/claude_desktop_config.json": {"claude-desktop", "darwin"},
		"/h/.claude.json":                       {"claude-code", "darwin"},
		"/h/AppData/Roaming/Code/User/mcp.json": {"vscode", "windows"},
	} {
		client := must.Value(clientconfig.Find(of[0]))(t)
		if got := client.File("/h", of[1]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheFileFromBeforeTheBridgeStaysAndSoDoesItsMode(t *testing.T) {
	client := must.Value(clientconfig.Find("cursor"))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	must.Succeed(t, os.WriteFile(path, []byte("{}"), 0o644))
	for _, url := range []string{"http://127.0.0.1:1/mcp", "http://127.0.0.1:2/mcp"} {
		must.Values(Write(client, path, Entry{URL: url}))(t)
	}
	if b, err := os.ReadFile(path + ".bak"); err != nil || string(b) != "{}" {
		t.Errorf("the first backup is %s, %v", b, err)
	}
	if b, err := os.ReadFile(path + ".bak.1"); err != nil || !strings.Contains(string(b), ":1/") {
		t.Errorf("the second backup is %s, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
