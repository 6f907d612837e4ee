// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Client is a program that uses a bridge.
type Client struct {
	// Name is the client's name on the command line.
	Name string
	// file is the path of its configuration in the home folder, by GOOS. The entry for linux
	// serves all systems without an entry.
	file map[string][]string
	// member is the name of the object with its servers.
	member string
	// program and remote return the entry of the bridge.
	program func(command string, args jsondoc.Value) jsondoc.Value
	// remote is nil for a client whose file cannot contain a URL.
	remote func(url string) jsondoc.Value
	// toml says that the file is the TOML file of Codex.
	toml bool
}

// object returns an object with these members.
func object(members ...jsondoc.Member) jsondoc.Value {
	return jsondoc.Value{Kind: jsondoc.Object, Members: members}
}

func member(name string, value jsondoc.Value) jsondoc.Member {
	return jsondoc.Member{Name: name, Value: value}
}

func text(name, value string) jsondoc.Member { return member(name, jsondoc.Text(value)) }

func plainProgram(command string, args jsondoc.Value) jsondoc.Value {
	return object(text("command", command), member("args", args))
}

func typedProgram(command string, args jsondoc.Value) jsondoc.Value {
	return object(text("type", "stdio"), text("command", command), member("args", args))
}

func typedURL(url string) jsondoc.Value { return object(text("type", "http"), text("url", url)) }

// urlAs returns a function that makes an entry with a URL under this name.
func urlAs(name string) func(string) jsondoc.Value {
	return func(url string) jsondoc.Value { return object(text(name, url)) }
}

var clients = []Client{
	{Name: "claude-code", member: "mcpServers", program: typedProgram, remote: typedURL,
		file: map[string][]string{"linux": {".claude.json"}}},
	{Name: "claude-desktop", member: "mcpServers", program: plainProgram,
		file: map[string][]string{
			"linux":   {".config", "Claude", "claude_desktop_config.json"},
			"darwin":  {"Library", "Application Support", "Claude", "claude_desktop_config.json"},
			"windows": {"AppData", "Roaming", "Claude", "claude_desktop_config.json"},
		}},
	{Name: "cursor", member: "mcpServers", program: plainProgram, remote: urlAs("url"),
		file: map[string][]string{"linux": {".cursor", "mcp.json"}}},
	{Name: "vscode", member: "servers", program: typedProgram, remote: typedURL,
		file: map[string][]string{
			"linux":   {".config", "Code", "User", "mcp.json"},
			"darwin":  {"Library", "Application Support", "Code", "User", "mcp.json"},
			"windows": {"AppData", "Roaming", "Code", "User", "mcp.json"},
		}},
	{Name: "codex", toml: true, file: map[string][]string{"linux": {".codex", "config.toml"}}},
	{Name: "windsurf", member: "mcpServers", program: plainProgram, remote: urlAs("serverUrl"),
		file: map[string][]string{"linux": {".codeium", "windsurf", "mcp_config.json"}}},
	{Name: "gemini", member: "mcpServers", program: plainProgram, remote: urlAs("httpUrl"),
		file: map[string][]string{"linux": {".gemini", "settings.json"}}},
}

// ClientNames returns the names of the known clients.
func ClientNames() []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.Name
	}
	return names
}

// FindClient returns the client of this name.
func FindClient(name string) (Client, error) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, fmt.Errorf("the client %.40q is none of %s", name, strings.Join(ClientNames(), ", "))
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

// Entry says how a client reaches the bridge: by URL if it is set, else by running its program.
type Entry struct {
	Command string
	// Config is the path of the bridge's configuration, empty for the default.
	Config string
	URL    string
}

// args returns the program's arguments, whose syntax is the same in JSON and TOML. Without a
// command the program serves over stdio. Claude Code hides arguments wherever they stand in
// errors: with serve, "server" would read "[redacted]r".
func (e Entry) args() jsondoc.Value {
	v := jsondoc.Value{Kind: jsondoc.Array}
	if e.Config != "" {
		v.Items = append(v.Items, jsondoc.Text("--config"), jsondoc.Text(e.Config))
	}
	return v
}

// Snippet returns a complete client file that contains only the bridge's entry.
func (c Client) Snippet(e Entry) ([]byte, error) {
	if c.toml {
		return section(e), nil
	}
	entry, err := c.entry(e)
	if err != nil {
		return nil, err
	}
	return object(member(c.member, object(member(name, entry)))).Indented(), nil
}

func (c Client) entry(e Entry) (jsondoc.Value, error) {
	if e.URL == "" {
		return c.program(e.Command, e.args()), nil
	}
	if c.remote == nil {
		return jsondoc.Value{}, fmt.Errorf("%s takes no URL in its file: use the bridge's program", c.Name)
	}
	return c.remote(e.URL), nil
}

// section returns the bridge's table in Codex' TOML, whose strings are written as in JSON.
func section(e Entry) []byte {
	if e.URL != "" {
		return fmt.Appendf(nil, "[mcp_servers.%s]\nurl = %s\n", name, strconv.Quote(e.URL))
	}
	args := encoded(e.args().MarshalJSON())
	return fmt.Appendf(nil, "[mcp_servers.%s]\ncommand = %s\nargs = %s\n", name, strconv.Quote(e.Command), args)
}

// Write puts the bridge's entry into the client's file and keeps everything else. It saves the
// previous file with the suffix .bak and returns its path, empty if there was no file. changed is
// false if the file was already right.
func (c Client) Write(path string, e Entry) (backup string, changed bool, err error) {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("read the client's file: %w", err)
	}
	after, err := c.merge(before, e)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(before, after) {
		return "", false, nil
	}
	if before != nil {
		if backup, err = keep(path, before); err != nil {
			return "", false, err
		}
	}
	return backup, true, replace(path, after)
}

// maxBackups limits the backups of a client's file.
const maxBackups = 100

// keep saves the previous file beside path under an unused name: the oldest backup is the file
// from before the bridge.
func keep(path string, before []byte) (backup string, err error) {
	for n := range maxBackups {
		if backup = path + ".bak"; n > 0 {
			backup += "." + strconv.Itoa(n)
		}
		f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(before)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", fmt.Errorf("keep the former file: %w", err)
		}
		return backup, nil
	}
	return "", fmt.Errorf("there are %d former files beside %s: delete some", maxBackups, path)
}

// replace writes a client's file and keeps its mode.
func replace(path string, content []byte) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteFile(path, content)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if err := WriteFile(path, content); err != nil {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()); err != nil {
		return fmt.Errorf("give %s its mode: %w", path, err)
	}
	return nil
}

func (c Client) merge(before []byte, e Entry) ([]byte, error) {
	if c.toml {
		return appendSection(before, e)
	}
	entry, err := c.entry(e)
	if err != nil {
		return nil, err
	}
	doc := jsondoc.Value{Kind: jsondoc.Object}
	if len(bytes.TrimSpace(before)) > 0 {
		if doc, err = jsondoc.Parse(before); err != nil {
			return nil, fmt.Errorf("%w; it may have comments, so add the entry by hand", err)
		}
	}
	servers, _ := doc.Get(c.member)
	if doc.Kind != jsondoc.Object || servers.Kind != jsondoc.Object && servers.Kind != jsondoc.Null {
		return nil, errors.New("is not an object with servers: add the entry by hand")
	}
	merged := doc.With(c.member, servers.With(name, entry))
	if same, _ := doc.MarshalJSON(); bytes.Equal(same, encoded(merged.MarshalJSON())) {
		return before, nil // The file keeps its layout.
	}
	return merged.Indented(), nil
}

// encoded returns b: encoding a document cannot fail.
func encoded(b []byte, _ error) []byte { return b }

// sectionPattern matches the bridge's table in every TOML spelling.
var sectionPattern = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*(mcp_servers|"mcp_servers"|'mcp_servers')[ \t]*\.[ \t]*(` + name + `|"` + name + `"|'` + name + `')[ \t]*[\].]`)

func appendSection(before []byte, e Entry) ([]byte, error) {
	if sectionPattern.Match(before) {
		if bytes.Contains(before, section(e)) {
			return before, nil
		}
		return nil, errors.New("has another entry for the bridge: change it by hand")
	}
	after := bytes.TrimRight(bytes.Clone(before), "\n")
	if len(after) > 0 {
		after = append(after, "\n\n"...)
	}
	return append(after, section(e)...), nil
}
