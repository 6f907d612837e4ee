// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// UserID is the only user of a local bridge.
const UserID = "local"

// unresolved replaces a URL that lacks a value. It is never connected to: the server is out of
// service until its secrets are set.
const unresolved = "http://unresolved.invalid"

// LookupFunc returns a secret's value.
type LookupFunc func(name string) (string, bool)

// Config returns the bridge's configuration. lookup fills in the variables in URLs and OAuth
// client ids, which cannot be templates in the configuration. If a value is missing, the server
// requires a secret that is not set, so that only this server is out of service and says why.
func (f File) Config(bridgeUID string, lookup LookupFunc) (bridgeconfig.Config, error) {
	c := bridgeconfig.Config{
		UserID:         UserID,
		BridgeUID:      bridgeUID,
		Mode:           f.Mode,
		ToolPrefix:     f.ToolPrefix,
		ToolNameLength: f.ToolNameLength,
		Unprefixed:     f.Unprefixed,
		StatusTool:     f.StatusTool,
		// Such rules would protect the user's own network from the user.
		Egress:  bridgeconfig.Egress{Unrestricted: true},
		Servers: []bridgeconfig.Server{},
	}
	logins := map[string]string{} // the server of each login's secret
	for _, entry := range f.Servers {
		if entry.Value.Disabled {
			continue
		}
		s, err := entry.Value.config(entry.Name, lookup)
		if err != nil {
			return bridgeconfig.Config{}, fmt.Errorf("servers.%s: %w", entry.Name, err)
		}
		if o := s.OAuth; o != nil && o.Token != "" {
			if other := logins[o.Token]; other != "" {
				return bridgeconfig.Config{}, fmt.Errorf("servers.%s: its login is the secret %s, which is that of %s: call it something else", s.Name, o.Token, other)
			}
			logins[o.Token] = s.Name
		}
		c.Servers = append(c.Servers, s)
	}
	return c, c.Validate()
}

func (s Server) config(name string, lookup LookupFunc) (bridgeconfig.Server, error) {
	out := bridgeconfig.Server{
		Name: name, Description: s.Description,
		ProtocolVersion: s.ProtocolVersion, NoListening: s.NoListening,
		Tools: s.Tools, Trust: s.Trust, Timeouts: s.Timeouts, Retry: s.Retry,
		CacheTTL: s.CacheTTL, MaxResultBytes: s.MaxResultBytes,
	}
	switch {
	case s.Command != "" && s.URL != "":
		return out, fmt.Errorf("command and url exclude each other")
	case s.Command != "":
		return s.program(out)
	case s.URL != "":
		return s.remote(out, lookup)
	default:
		return out, fmt.Errorf("command or url is required")
	}
}

func (s Server) program(out bridgeconfig.Server) (bridgeconfig.Server, error) {
	if s.Type != "" && s.Type != "stdio" || s.Auth != nil || len(s.Headers) > 0 {
		return out, fmt.Errorf("a program has no type, headers or auth")
	}
	out.Transport = bridgeconfig.Stdio
	p := &bridgeconfig.Program{Command: append([]string{s.Command}, s.Args...), Dir: s.Dir}
	for _, e := range s.Env {
		p.Env = append(p.Env, bridgeconfig.Variable{Name: e.Name, Value: e.Value})
	}
	for _, e := range s.Files {
		p.Files = append(p.Files, bridgeconfig.File{Name: e.Name, Content: e.Value})
	}
	out.Program = p
	return out, grant(&out)
}

func (s Server) remote(out bridgeconfig.Server, lookup LookupFunc) (bridgeconfig.Server, error) {
	if len(s.Args)+len(s.Env)+len(s.Files) > 0 || s.Dir != "" {
		return out, fmt.Errorf("a server at a url has no args, env, files or dir")
	}
	switch s.Type {
	case "", "http", string(bridgeconfig.StreamableHTTP):
		out.Transport = bridgeconfig.StreamableHTTP
	case "sse":
		out.Transport = bridgeconfig.SSE
	default:
		return out, fmt.Errorf("type %.40q is neither http nor sse", s.Type)
	}
	url, err := fill(&out, "url", s.URL, lookup)
	if err != nil {
		return out, err
	}
	if out.URL = url; url == "" {
		out.URL = unresolved
	}
	for _, e := range s.Headers {
		out.Headers = append(out.Headers, bridgeconfig.Header{Name: e.Name, Value: e.Value})
	}
	if s.Auth != nil {
		if err := s.Auth.config(&out, lookup); err != nil {
			return out, fmt.Errorf("auth.%w", err)
		}
	}
	return out, grant(&out)
}

func (a Auth) config(out *bridgeconfig.Server, lookup LookupFunc) error {
	id, err := fill(out, "clientID", a.ClientID, lookup)
	if err != nil {
		return err
	}
	discovers := a.Discovers() && !a.Registered
	if id == "" && (a.ClientID != "" || discovers) {
		id = "unresolved"
	}
	if discovers {
		// The server is out of service until its login, which writes the addresses.
		a.TokenURL, a.AuthorizationURL = unresolved, unresolved
	}
	o := &bridgeconfig.OAuth{
		Grant: a.Grant, TokenURL: a.TokenURL, AuthorizationURL: a.AuthorizationURL,
		ClientID: id, Scopes: a.Scopes, Resource: a.Resource,
	}
	if a.ClientSecret != "" {
		if o.ClientSecret, err = a.secretName(); err != nil {
			return err
		}
		need(out, o.ClientSecret)
	}
	if a.Grant == bridgeconfig.AuthorizationCode {
		o.Token = recipe.TokenSecret(out.Name)
		need(out, o.Token)
	}
	out.OAuth = o
	return nil
}

// secretName returns the name of the secret with the client's secret.
func (a Auth) secretName() (string, error) {
	t, err := template.Parse(a.ClientSecret)
	if err != nil {
		return "", fmt.Errorf("clientSecret: %w", err)
	}
	names := t.Required()
	if len(names) != 1 || a.ClientSecret != "${"+names[0]+"}" {
		return "", fmt.Errorf("clientSecret must be one secret, such as ${CLIENT_SECRET}")
	}
	return names[0], nil
}

// fill returns a text with its variables filled in, or an empty string if a value is missing.
func fill(out *bridgeconfig.Server, path, text string, lookup LookupFunc) (string, error) {
	t, err := template.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	value, missing := t.Expand(lookup)
	for _, name := range t.Required() {
		need(out, name)
	}
	if missing != nil {
		return "", nil
	}
	return value, nil
}

func need(out *bridgeconfig.Server, name string) {
	if !slices.Contains(out.Secrets, name) {
		out.Secrets = append(out.Secrets, name)
	}
}

// grant permits the server to use the secrets that its texts name.
func grant(out *bridgeconfig.Server) error {
	for _, text := range out.Templates() {
		t, err := template.Parse(text)
		if err != nil {
			return err
		}
		for _, name := range t.Names() {
			if name != bridgeconfig.ConfigDir || out.Program == nil {
				need(out, name)
			}
		}
	}
	return nil
}

// SecretNames returns the names of all secrets that the servers may use.
func SecretNames(c bridgeconfig.Config) []string {
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Secrets...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FromConfig returns a server in the form of a File.
func FromConfig(s bridgeconfig.Server) Server {
	out := Server{Description: s.Description, URL: s.URL}
	if s.Kind() == bridgeconfig.SSE {
		out.Type = "sse"
	}
	for _, h := range s.Headers {
		out.Headers = append(out.Headers, entry(h.Name, h.Value))
	}
	if p := s.Program; p != nil {
		out.Command, out.Args, out.Dir = p.Command[0], p.Command[1:], p.Dir
		for _, v := range p.Env {
			out.Env = append(out.Env, entry(v.Name, v.Value))
		}
		for _, f := range p.Files {
			out.Files = append(out.Files, entry(f.Name, f.Content))
		}
	}
	if o := s.OAuth; o != nil {
		out.Auth = &Auth{
			Grant: o.Grant, TokenURL: o.TokenURL, AuthorizationURL: o.AuthorizationURL,
			ClientID: o.ClientID, Scopes: o.Scopes, Resource: o.Resource,
		}
		if o.ClientSecret != "" {
			out.Auth.ClientSecret = "${" + o.ClientSecret + "}"
		}
	}
	return out
}
