// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientconfig says how programs that use a bridge are told where it is: which file each
// of them reads, and in which form. The bridge on a laptop, the console's page and the
// documentation have it from here.
package clientconfig

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// HostedName is the name of a hosted bridge in clients' files. Clients put it before the name of
// each tool, and models' APIs take 64 characters for both, so that it is short.
const HostedName = "hb"

// KeyVariable is the variable of the environment from which clients take the key of a hosted
// bridge, so that no file has it.
const KeyVariable = "HB_KEY"

// Client is a program that uses a bridge.
type Client struct {
	// Name is the client's name on the command line, and Title the one that people know.
	Name, Title string
	// Member is the name of the object with its servers.
	Member string
	// TOML says that the file is the TOML file of Codex.
	TOML bool
	// file is the path of its configuration in the home folder, by GOOS. The entry for linux
	// serves all systems without an entry.
	file map[string][]string
	// project is the path of a file that people keep in their project, empty for the one in
	// the home folder.
	project string
	// program and remote return the entry of the bridge; remote is nil for a client whose file
	// cannot contain a URL.
	program func(command string, args []string) jsondoc.Value
	remote  func(url string) jsondoc.Value
	// variable is how the file names the key: as a variable of the environment, as an input, or
	// as the words that people replace. It is empty for a client of which this is not known.
	variable string
	// inputs are what the file has beside its servers, where the client asks for the key.
	inputs []jsondoc.Member
	// also are the last members of each entry, and withKey those of one with a key.
	also, withKey []jsondoc.Member
	// logIn is how a person logs in, for a bridge without a key.
	logIn string
}

// object returns an object with these members.
func object(members ...jsondoc.Member) jsondoc.Value {
	return jsondoc.Value{Kind: jsondoc.Object, Members: members}
}

func member(name string, value jsondoc.Value) jsondoc.Member {
	return jsondoc.Member{Name: name, Value: value}
}

func text(name, value string) jsondoc.Member { return member(name, jsondoc.Text(value)) }

func boolean(name, value string) jsondoc.Member {
	return member(name, jsondoc.Value{Kind: jsondoc.Bool, Text: value})
}

func list(texts ...string) jsondoc.Value {
	v := jsondoc.Value{Kind: jsondoc.Array}
	for _, t := range texts {
		v.Items = append(v.Items, jsondoc.Text(t))
	}
	return v
}

// commandOf returns the members of a program's entry, after others.
func commandOf(before ...jsondoc.Member) func(string, []string) jsondoc.Value {
	return func(command string, args []string) jsondoc.Value {
		return object(append(slices.Clip(before), text("command", command), member("args", list(args...)))...)
	}
}

// urlAs returns a function that makes an entry with a URL under this name, after other members.
func urlAs(name string, before ...jsondoc.Member) func(string) jsondoc.Value {
	return func(url string) jsondoc.Value { return object(append(slices.Clip(before), text(name, url))...) }
}

// ownKey is in a file whose client reads no variables.
const ownKey = "YOUR_KEY"

// inputOfKey names the key in files whose client asks for it. VS Code adds the input of a link to
// the person's file only if no input there has its name: under a common name it would send the
// value that another server asked for.
const inputOfKey = HostedName + "-key"

// fromEnvironment names the variable of the key as most clients do.
const fromEnvironment = "${" + KeyVariable + "}"

var clients = []Client{
	{
		Name: "claude-code", Title: "Claude Code", Member: "mcpServers", file: everywhere(".claude.json"),
		program: commandOf(text("type", "stdio")), remote: urlAs("url", text("type", "http")),
		variable: fromEnvironment, logIn: "Then type /mcp in Claude Code and log in.",
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Member: "mcpServers", program: commandOf(),
		file: map[string][]string{
			"linux":   {".config", "Claude", "claude_desktop_config.json"},
			"darwin":  {"Library", "Application Support", "Claude", "claude_desktop_config.json"},
			"windows": {"AppData", "Roaming", "Claude", "claude_desktop_config.json"},
		},
	},
	{
		Name: "cursor", Title: "Cursor", Member: "mcpServers", file: everywhere(".cursor", "mcp.json"),
		program: commandOf(), remote: urlAs("url"), variable: "${env:" + KeyVariable + "}",
	},
	{
		Name: "vscode", Title: "VS Code", Member: "servers", project: ".vscode/mcp.json",
		file: map[string][]string{
			"linux":   {".config", "Code", "User", "mcp.json"},
			"darwin":  {"Library", "Application Support", "Code", "User", "mcp.json"},
			"windows": {"AppData", "Roaming", "Code", "User", "mcp.json"},
		},
		program: commandOf(text("type", "stdio")), remote: urlAs("url", text("type", "http")), variable: "${input:" + inputOfKey + "}",
		inputs: []jsondoc.Member{member("inputs", jsondoc.Value{Kind: jsondoc.Array, Items: []jsondoc.Value{
			object(text("type", "promptString"), text("id", inputOfKey), text("description", "API key"), boolean("password", "true")),
		}})},
	},
	{
		Name: "codex", Title: "Codex", TOML: true, file: everywhere(".codex", "config.toml"),
		variable: KeyVariable, logIn: "Then run codex mcp login " + HostedName + ".",
	},
	{
		Name: "windsurf", Title: "Windsurf", Member: "mcpServers", file: everywhere(".codeium", "windsurf", "mcp_config.json"),
		program: commandOf(), remote: urlAs("serverUrl"),
	},
	{
		Name: "gemini", Title: "Gemini CLI", Member: "mcpServers", file: everywhere(".gemini", "settings.json"),
		program: commandOf(), remote: urlAs("httpUrl"),
		variable: fromEnvironment, logIn: "Then type /mcp auth " + HostedName + " in Gemini CLI.",
	},
	{
		Name: "copilot", Title: "Copilot CLI", Member: "mcpServers", file: everywhere(".copilot", "mcp-config.json"),
		program: commandOf(text("type", "local")), remote: urlAs("url", text("type", "http")),
		variable: fromEnvironment, also: []jsondoc.Member{member("tools", list("*"))},
	},
	{
		Name: "opencode", Title: "opencode", Member: "mcp", file: everywhere(".config", "opencode", "opencode.json"),
		program: commandLine, remote: urlAs("url", text("type", "remote")),
		variable: "{env:" + KeyVariable + "}", withKey: []jsondoc.Member{boolean("oauth", "false")},
		logIn: "Then run opencode mcp auth " + HostedName + ".",
	},
	{
		Name: "qwen", Title: "Qwen Code", Member: "mcpServers", file: everywhere(".qwen", "settings.json"),
		program: commandOf(), remote: urlAs("httpUrl"), variable: fromEnvironment,
	},
	{
		Name: "cline", Title: "Cline", Member: "mcpServers", file: everywhere(".cline", "data", "settings", "cline_mcp_settings.json"),
		program: commandOf(), remote: urlAs("url", text("type", "streamableHttp")), variable: ownKey,
	},
}

// everywhere is the path of a file that is the same on all systems.
func everywhere(parts ...string) map[string][]string { return map[string][]string{"linux": parts} }

// commandLine returns the entry of opencode, which has the program and its arguments in one list.
func commandLine(command string, args []string) jsondoc.Value {
	return object(text("type", "local"), member("command", list(append([]string{command}, args...)...)))
}

// Names returns the names of the known clients.
func Names() []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.Name
	}
	return names
}

// Find returns the client of this name.
func Find(name string) (Client, error) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, fmt.Errorf("the client %.40q is not known: use one of %s", name, strings.Join(Names(), ", "))
	}
	return clients[i], nil
}

// File returns the path of the client's configuration.
func (c Client) File(home, system string) string {
	parts := c.file[system]
	if parts == nil {
		parts = c.file["linux"]
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// Bridge says how a client reaches a bridge: by URL if it is set, else by running a program.
type Bridge struct {
	// Name is the bridge's name in the client's file.
	Name string
	// Command and Args are the program.
	Command string
	Args    []string
	URL     string
	// Hosted says that the bridge is in a cluster, where it may sleep.
	Hosted bool
	// Keyed says that the client sends a key: Key, or if that is empty the one in KeyVariable, or
	// one that it asks for.
	Keyed bool
	Key   string
}

// Snippet returns a complete client file that contains only the bridge's entry.
func (c Client) Snippet(b Bridge) ([]byte, error) {
	if c.TOML {
		return Section(b), nil
	}
	entry, err := c.Entry(b)
	if err != nil {
		return nil, err
	}
	var members []jsondoc.Member
	if b.Keyed && b.Key == "" {
		members = slices.Clone(c.inputs)
	}
	return object(append(members, member(c.Member, object(member(b.Name, entry))))...).Indented(), nil
}

// Entry returns what the client's file has of the bridge in the object Client.Member.
func (c Client) Entry(b Bridge) (jsondoc.Value, error) {
	var entry jsondoc.Value
	switch {
	case b.URL == "":
		entry = c.program(b.Command, b.Args)
	case c.remote == nil:
		return entry, fmt.Errorf("%s takes no URL in its file: use the bridge's program", c.Name)
	default:
		entry = c.remote(b.URL)
	}
	if b.Keyed {
		header := text("Authorization", "Bearer "+cmp.Or(b.Key, c.variable))
		entry.Members = append(append(entry.Members, member("headers", object(header))), c.withKey...)
	}
	entry.Members = append(entry.Members, c.also...)
	return entry, nil
}

// Section returns the bridge's table in Codex' TOML, whose strings are written as in JSON. Codex
// begins without the tools of a server that does not answer within a second, such as a bridge
// that sleeps, unless the server is required.
func Section(b Bridge) []byte {
	table := fmt.Appendf(nil, "[mcp_servers.%s]\n", b.Name)
	if b.URL == "" {
		args, _ := list(b.Args...).MarshalJSON() // Texts can always be encoded.
		return fmt.Appendf(table, "command = %s\nargs = %s\n", strconv.Quote(b.Command), args)
	}
	table = fmt.Appendf(table, "url = %s\n", strconv.Quote(b.URL))
	switch {
	case b.Key != "":
		table = fmt.Appendf(table, "http_headers = {Authorization = %s}\n", strconv.Quote("Bearer "+b.Key))
	case b.Keyed:
		table = fmt.Appendf(table, "bearer_token_env_var = %s\n", strconv.Quote(KeyVariable))
	}
	if b.Hosted {
		table = append(table, "required = true\n"...)
	}
	return table
}
