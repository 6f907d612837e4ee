// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// File is the user's configuration file. In its texts, ${NAME} stands for a secret, ${NAME:-text}
// for a secret with a default, and $$ for a dollar sign.
type File struct {
	Mode       bridgeconfig.Mode   `json:"mode,omitempty"`
	ToolPrefix bridgeconfig.Prefix `json:"toolPrefix,omitempty"`
	// ToolNameLength is the longest name of a tool or prompt, in characters, if there are several servers.
	ToolNameLength int `json:"toolNameLength,omitempty"`
	// Unprefixed is the server whose tools keep their names beside others: bridgeconfig.Config has more.
	Unprefixed *string                 `json:"unprefixed,omitempty"`
	StatusTool bridgeconfig.StatusTool `json:"statusTool,omitempty"`

	Servers jsondoc.Ordered[Server] `json:"servers"`
}

// NewFile returns the content of a file that does not exist yet. No client knows names of its tools.
func NewFile() File { return File{ToolNameLength: bridgeconfig.DefaultToolNameLength} }

// Put adds a server, or replaces the one of its name. Clients know the tools of a server that was
// the only one by their own names, so these stay.
func (f *File) Put(name string, s Server) {
	for i := range f.Servers {
		if f.Servers[i].Name == name {
			f.Servers[i].Value = s
			return
		}
	}
	if one := f.enabled(); len(one) == 1 && f.Unprefixed == nil {
		f.Unprefixed = &one[0]
	}
	f.Servers = append(f.Servers, jsondoc.Entry[Server]{Name: name, Value: s})
}

// Remove removes a server, and reports whether there was one of that name. A server that is left
// alone keeps the prefix that its tools have.
func (f *File) Remove(name string) bool {
	if f.Unprefixed == nil && len(f.enabled()) > 1 {
		f.Unprefixed = new("")
	}
	before := len(f.Servers)
	f.Servers = slices.DeleteFunc(f.Servers, func(e jsondoc.Entry[Server]) bool { return e.Name == name })
	if enabled := f.enabled(); len(enabled) == 0 || len(enabled) > 1 && f.Unprefixed != nil && *f.Unprefixed == "" {
		f.Unprefixed = nil // The number of servers says it.
	}
	return len(f.Servers) < before
}

// enabled returns the names of the servers that are started.
func (f *File) enabled() (names []string) {
	for _, e := range f.Servers {
		if !e.Value.Disabled {
			names = append(names, e.Name)
		}
	}
	return names
}

// Server is one server in a File: a program by Command, or a remote one by URL.
type Server struct {
	Description string `json:"description,omitempty"`
	// Disabled keeps the server in the file but does not start it.
	Disabled bool `json:"disabled,omitempty"`

	Command string                  `json:"command,omitempty"`
	Args    []string                `json:"args,omitempty"`
	Env     jsondoc.Ordered[string] `json:"env,omitempty"`
	// Files are written to the folder that ${CONFIG_DIR} stands for.
	Files jsondoc.Ordered[string] `json:"files,omitempty"`
	Dir   string                  `json:"dir,omitempty"`

	// Type is http (also if empty) or sse, for a server with a URL.
	Type            string                  `json:"type,omitempty"`
	URL             string                  `json:"url,omitempty"`
	Headers         jsondoc.Ordered[string] `json:"headers,omitempty"`
	Auth            *Auth                   `json:"auth,omitempty"`
	ProtocolVersion string                  `json:"protocolVersion,omitempty"`
	NoListening     bool                    `json:"noListening,omitempty"`

	Tools          bridgeconfig.Tools    `json:"tools,omitzero"`
	Trust          bridgeconfig.Trust    `json:"trust,omitempty"`
	Timeouts       bridgeconfig.Timeouts `json:"timeouts,omitzero"`
	Retry          bridgeconfig.Retry    `json:"retry,omitzero"`
	CacheTTL       bridgeconfig.Duration `json:"cacheTTL,omitzero"`
	MaxResultBytes int                   `json:"maxResultBytes,omitempty"`
}

// WithPolicies returns the server with the policies of another one: the settings that belong to
// the user, not to a recipe.
func (s Server) WithPolicies(of Server) Server {
	s.Disabled, s.Tools, s.Trust, s.Timeouts, s.Retry = of.Disabled, of.Tools, of.Trust, of.Timeouts, of.Retry
	s.CacheTTL, s.MaxResultBytes, s.NoListening, s.ProtocolVersion = of.CacheTTL, of.MaxResultBytes, of.NoListening, of.ProtocolVersion
	return s
}

// Lock prevents other processes from changing the file at path until unlock is called.
func Lock(path string) (unlock func(), err error) { return lock(path) }

// LockUntil is like Lock for changes that take long: it waits until ctx ends.
func LockUntil(ctx context.Context, path string) (unlock func(), err error) {
	return lockWithin(ctx, path, turnInterval)
}

// Auth is how a remote server's OAuth token is obtained.
type Auth struct {
	Grant bridgeconfig.Grant `json:"grant"`
	// TokenURL and AuthorizationURL are the authorization server's. If a login has neither, `bridge
	// login` finds the server and writes them here.
	TokenURL         string `json:"tokenURL,omitempty"`
	AuthorizationURL string `json:"authorizationURL,omitempty"`
	// ClientID may be left out with them: `bridge login` then registers a client.
	ClientID string `json:"clientID,omitempty"`
	// Registered means that `bridge login` registered the client. The next login registers another
	// one, since a client is bound to the local port of its login.
	Registered bool `json:"registered,omitempty"`
	// ClientSecret must be exactly one variable.
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	Resource     string   `json:"resource,omitempty"`
}

// Discovers reports whether `bridge login` has to find the authorization server.
func (a Auth) Discovers() bool {
	return a.Grant == bridgeconfig.AuthorizationCode && (a.Registered || a.TokenURL == "" && a.AuthorizationURL == "")
}

// Format is the program that a configuration file is for.
type Format string

// The formats.
const (
	// Ours is the format of File.
	Ours Format = "hosted-bridge"
	// Common is the mcpServers object of many clients.
	Common Format = "mcpServers"
	// VSCode is VS Code's mcp.json.
	VSCode Format = "vscode"
	// Origin is mcp-bridge's config.json.
	Origin Format = "mcp-bridge"
)

// Loaded is a parsed configuration file.
type Loaded struct {
	File   File
	Format Format
	// Warnings are the settings in another program's file that a bridge does not support.
	Warnings []string
}

// Parse parses a configuration file and detects its format. An unknown field is an error in our
// own format, and a warning in those of other programs.
func Parse(b []byte) (Loaded, error) {
	doc, err := jsondoc.Parse(b)
	if err != nil {
		return Loaded{}, err
	}
	if doc.Kind != jsondoc.Object {
		return Loaded{}, errors.New("is not a JSON object")
	}
	l := Loaded{}
	if l.Format, err = formatOf(doc); err != nil {
		return Loaded{}, err
	}
	var problems []jsondoc.Problem
	switch l.Format {
	case Common:
		l.File, problems = readCommon(doc, "mcpServers")
	case VSCode:
		l.File, problems = readCommon(doc, "servers")
	case Origin:
		l.File, problems = readOrigin(doc)
	default:
		problems = jsondoc.Decode(doc, &l.File)
	}
	if err := l.judge(problems); err != nil {
		return Loaded{}, err
	}
	if l.Format != Ours {
		l.adapt()
	}
	return l, nil
}

// judge separates errors from warnings.
func (l *Loaded) judge(problems []jsondoc.Problem) error {
	var wrong []string
	for _, p := range problems {
		switch {
		case !p.Unknown || l.Format == Ours:
			wrong = append(wrong, p.String())
		case p.Message == "unknown field":
			l.warn("%s is not known and has no effect", p.Path)
		default:
			l.warn("%s", p)
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// formatOf detects the format.
func formatOf(doc jsondoc.Value) (Format, error) {
	servers, _ := doc.Get("servers")
	prefix, _ := doc.Get("toolPrefix")
	server := func(f func(jsondoc.Value) bool) bool {
		return slices.ContainsFunc(servers.Members, func(m jsondoc.Member) bool { return f(m.Value) })
	}
	switch {
	case has(doc, "mcpServers"):
		return Common, nil
	case has(doc, originOnly...), prefix.Kind == jsondoc.Bool, server(func(s jsondoc.Value) bool { return has(s, "transport") }):
		return Origin, nil
	case has(doc, "inputs"), server(func(s jsondoc.Value) bool { return has(s, vscodeOnly...) }):
		if own := ownMember(doc, servers); own != "" {
			return "", fmt.Errorf("is VS Code's by some of its members, in which %s would have no effect", own)
		}
		return VSCode, nil
	case server(ofVSCode) && ownMember(doc, servers) == "":
		return VSCode, nil
	default:
		return Ours, nil
	}
}

// vscodeOnly are members of a server that only VS Code's files have.
var vscodeOnly = []string{"envFile", "gallery"}

// ofVSCode reports whether a server is in VS Code's form: there, a program has a type, too.
func ofVSCode(s jsondoc.Value) bool { return has(s, "type") && has(s, "command") }

// ownMember returns the path of a member that only our own format has, or an empty string.
func ownMember(doc, servers jsondoc.Value) string {
	for _, name := range []string{"mode", "toolPrefix", "toolNameLength", "unprefixed", "statusTool"} {
		if has(doc, name) {
			return name
		}
	}
	for _, server := range servers.Members {
		for _, m := range server.Value.Members {
			if slices.Contains(oursOnly, m.Name) {
				return "servers." + server.Name + "." + m.Name
			}
		}
	}
	return ""
}

// oursOnly are the members of a server that exist only in our own format.
var oursOnly = []string{
	"files", "dir", "auth", "protocolVersion", "noListening", "tools", "trust", "timeouts", "retry", "cacheTTL", "maxResultBytes",
}

// has reports whether an object has any of these members.
func has(v jsondoc.Value, names ...string) bool {
	return slices.ContainsFunc(v.Members, func(m jsondoc.Member) bool { return slices.Contains(names, m.Name) })
}

// Encode returns the content of the file.
func (f File) Encode() ([]byte, error) {
	if f.Servers == nil {
		f.Servers = jsondoc.Ordered[Server]{}
	}
	doc, err := jsondoc.Encode(f)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return doc.Indented(), nil
}

// warning returns a problem that is only a warning: a setting that a bridge does not support.
func warning(path, format string, args ...any) jsondoc.Problem {
	return jsondoc.Problem{Path: path, Message: fmt.Sprintf(format, args...), Unknown: true}
}
