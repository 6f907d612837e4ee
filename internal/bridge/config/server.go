// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	StreamableHTTP Transport = "streamable-http"
	// SSE is the HTTP+SSE transport of 2024-11-05.
	SSE Transport = "sse"
	// Stdio is a program that reads and writes lines.
	Stdio Transport = "stdio"
)

// Server is one upstream.
type Server struct {
	// Name is unique within the bridge and prefixes the server's tools where
	// there are several servers.
	Name string `json:"name"`
	// Description tells what the server is for, in mode Router.
	Description string `json:"description,omitempty"`
	// Transport is how the server is reached. Empty is StreamableHTTP.
	Transport Transport `json:"transport,omitempty"`
	// URL is the server's endpoint, http or https, without credentials. A
	// server over stdio has none.
	URL string `json:"url,omitempty"`
	// Headers are sent with every request to the server, in this order. Their
	// values may name secrets of the user, as ${NAME}.
	Headers []Header `json:"headers,omitempty"`
	// OAuth is how the bridge gets the token that it sends to the server. Where
	// it is set, no header may be Authorization.
	OAuth *OAuth `json:"oauth,omitempty"`
	// ConnectURL is the page on which the user connects the account whose tokens
	// OAuth uses, empty for none. It is for people, and the bridge does not go
	// there.
	ConnectURL string `json:"connectURL,omitempty"`
	// Program is what a server over stdio runs.
	Program *Program `json:"program,omitempty"`
	// ProtocolVersion is the one version that the bridge speaks to the server.
	// Empty has the two agree on one.
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// NoListening keeps the bridge from opening the stream by which a server
	// over streamable HTTP speaks unasked: some gateways do not answer it.
	NoListening bool `json:"noListening,omitempty"`
	// Secrets are the names of the user's secrets that this server may use.
	Secrets []string `json:"secrets,omitempty"`
	// Tools are the tools that there are of this server.
	Tools Tools `json:"tools,omitzero"`
	// ToolsHash is the fingerprint of the tools that the server was audited with,
	// sha256- and 64 hexadecimal digits, as a recipe names it. It is that of all
	// tools that the server lists, whatever Tools takes away. With others the
	// server is out of service. Empty compares nothing.
	ToolsHash string `json:"toolsHash,omitempty"`
	// Trust is how far the server's results are passed on as they are. Empty is
	// Trusted.
	Trust Trust `json:"trust,omitempty"`
	// Timeouts bound what is done with the server.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// Retry is whether a call that failed is made again.
	Retry Retry `json:"retry,omitzero"`
	// CacheTTL is for how long a read-only tool's result is kept for calls with
	// the same arguments. Zero keeps none.
	CacheTTL Duration `json:"cacheTTL,omitzero"`
	// MaxResultBytes bounds a result, in bytes of JSON. Zero has no bound but
	// the transport's.
	MaxResultBytes int `json:"maxResultBytes,omitempty"`
}

// Kind returns the server's transport.
func (s Server) Kind() Transport {
	if s.Transport == "" {
		return StreamableHTTP
	}
	return s.Transport
}

// Header is one header of every request to a server.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Program is a server that speaks over stdin and stdout.
type Program struct {
	// Socket is where the shim listens that runs the program beside the bridge.
	// Where it is empty the bridge runs the program itself.
	Socket string `json:"socket,omitempty"`
	// Command is the program and its arguments, which may name secrets.
	Command []string `json:"command"`
	// Env are the program's variables, besides the few that every program
	// needs. Their values may name secrets.
	Env []Variable `json:"env,omitempty"`
	// Files are written before the program starts, readable by it alone, into
	// the folder that ${CONFIG_DIR} stands for in Command and Env.
	Files []File `json:"files,omitempty"`
	// Dir is the program's working directory.
	Dir string `json:"dir,omitempty"`
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// File is one file for a program. Content may name secrets.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Grant is how an OAuth token is obtained.
type Grant string

// The grants.
const (
	// ClientCredentials asks with the client's own credentials (RFC 6749,
	// section 4.4).
	ClientCredentials Grant = "client_credentials"
	// AuthorizationCode uses the tokens that a person's login gave, and
	// refreshes them (RFC 6749, sections 4.1 and 6).
	AuthorizationCode Grant = "authorization_code"
)

// OAuth is how a token for a server is obtained.
type OAuth struct {
	Grant Grant `json:"grant"`
	// TokenURL is the authorization server's token endpoint.
	TokenURL string `json:"tokenURL"`
	// AuthorizationURL is where a person logs in. Only `bridge login` needs it: a
	// hosted bridge is not told.
	AuthorizationURL string `json:"authorizationURL,omitempty"`
	// ClientID is the client's public name.
	ClientID string `json:"clientID"`
	// ClientSecret is the name of the user's secret with the client's secret.
	// A public client has none.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Token is the name of the user's secret with the tokens of a login, for
	// AuthorizationCode. The bridge writes it anew when it has refreshed them.
	Token string `json:"token,omitempty"`
	// Scopes are asked for.
	Scopes []string `json:"scopes,omitempty"`
	// Resource is the server that the token is for (RFC 8707). Empty sends none.
	Resource string `json:"resource,omitempty"`
}

// Tools are the tools that there are of a server, by the server's own names.
type Tools struct {
	// Allow leaves only these, where it is not empty.
	Allow []string `json:"allow,omitempty"`
	// Deny takes these away, also those that Allow names.
	Deny []string `json:"deny,omitempty"`
}

// Allows reports whether the tool can be listed and called.
func (t Tools) Allows(tool string) bool {
	return !slices.Contains(t.Deny, tool) && (len(t.Allow) == 0 || slices.Contains(t.Allow, tool))
}

// Trust is how far a server's results are passed on as they are. It makes an
// attack by a result harder to miss; it is no boundary.
type Trust string

// The levels.
const (
	Trusted Trust = "trusted"
	// Untrusted marks results as foreign text, in which no instruction counts.
	Untrusted Trust = "untrusted"
	// Sanitize also takes markup, invisible characters and well-known
	// instructions to models out of the text.
	Sanitize Trust = "sanitize"
)

// Timeouts bound what is done with a server. Zero is the bridge's default.
type Timeouts struct {
	// Connect bounds one attempt to connect, the start of a program included.
	Connect Duration `json:"connect,omitzero"`
	// Call bounds a call from its being sent to its answer. Progress does not
	// extend it. The default is none, since tools may work for hours.
	Call Duration `json:"call,omitzero"`
	// Idle is how long a connection stays on which nothing is called. The
	// default keeps it.
	Idle Duration `json:"idle,omitzero"`
}

// Retry is whether a call that failed is made again. Whatever it says, a call
// is repeated only if it certainly was not delivered or its tool declares that
// repeating it is safe.
type Retry struct {
	// MaxAttempts counts the first attempt. Zero is one attempt, and one more
	// for a call that was not delivered.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// Delay is the pause before the second attempt; it doubles with each one
	// and has jitter. Zero is one second.
	Delay Duration `json:"delay,omitzero"`
}

// Templates returns all texts of the server in which secrets can be named, in
// a fixed order.
func (s Server) Templates() []string {
	var texts []string
	for _, h := range s.Headers {
		texts = append(texts, h.Value)
	}
	if s.Program == nil {
		return texts
	}
	texts = append(texts, s.Program.Command...)
	for _, v := range s.Program.Env {
		texts = append(texts, v.Value)
	}
	for _, f := range s.Program.Files {
		texts = append(texts, f.Content)
	}
	return texts
}

// Required returns the secrets without which the server is out of service: all
// that it may use, except those that only stand in texts with a default.
func (s Server) Required() []string {
	optional, required := map[string]bool{}, map[string]bool{}
	for _, text := range s.Templates() {
		t, err := template.Parse(text)
		if err != nil {
			continue // Validate refuses it.
		}
		for _, name := range t.Names() {
			optional[name] = true
		}
		for _, name := range t.Required() {
			required[name] = true
		}
	}
	if s.OAuth != nil {
		required[s.OAuth.ClientSecret], required[s.OAuth.Token] = true, true
	}
	var names []string
	for _, name := range s.Secrets {
		if required[name] || !optional[name] {
			names = append(names, name)
		}
	}
	return names
}

// ConfigDir is the name by which a program's texts refer to the folder with its
// files. It is no secret.
const ConfigDir = "CONFIG_DIR"

func (s Server) validate() error {
	if err := s.validateSecrets(); err != nil {
		return err
	}
	if err := s.validateTransport(); err != nil {
		return err
	}
	if o := s.OAuth; s.ConnectURL != "" && (!validURL(s.ConnectURL) || o == nil || o.Grant != AuthorizationCode) {
		return fmt.Errorf("connectURL must be an absolute http or https URL without credentials, of a server whose oauth.grant is %s", AuthorizationCode)
	}
	return s.validatePolicy()
}

// validateSecrets checks which secrets the server is granted, and that its
// texts use no others.
func (s Server) validateSecrets() error {
	for i, name := range s.Secrets {
		if !template.ValidName(name) {
			return fmt.Errorf("secrets[%d] %.80q is not a secret's name", i, name)
		}
		if name == ConfigDir && s.Program != nil {
			return fmt.Errorf("secrets[%d]: %s is the name of the program's folder", i, name)
		}
		if slices.Contains(s.Secrets[:i], name) {
			return fmt.Errorf("secrets[%d] %q is there twice", i, name)
		}
	}
	for i, h := range s.Headers {
		if err := s.validateHeader(h); err != nil {
			return fmt.Errorf("headers[%d]: %w", i, err)
		}
		for _, other := range s.Headers[:i] {
			if strings.EqualFold(h.Name, other.Name) {
				return fmt.Errorf("headers[%d]: %q is there twice", i, h.Name)
			}
		}
	}
	return nil
}

func (s Server) validateHeader(h Header) error {
	if !headerNamePattern.MatchString(h.Name) {
		return fmt.Errorf("%.80q is not a header's name", h.Name)
	}
	if reserved(strings.ToLower(h.Name)) {
		return fmt.Errorf("%s belongs to HTTP, MCP or the bridge itself and cannot be set", h.Name)
	}
	t, err := template.Parse(h.Value)
	if err != nil {
		return fmt.Errorf("value of %s: %w", h.Name, err)
	}
	for _, name := range t.Names() {
		if !slices.Contains(s.Secrets, name) {
			return fmt.Errorf("value of %s uses secret %s, which the server is not granted", h.Name, name)
		}
	}
	// Whatever the secrets are, the text around them must fit into a header.
	_, _, err = t.ExpandHeader(h.Name, func(string) (string, bool) { return "", false })
	return err
}

func (s Server) validateTransport() error {
	switch s.Kind() {
	case StreamableHTTP, SSE:
		if s.Program != nil {
			return fmt.Errorf("transport %s has no program", s.Kind())
		}
		if !validURL(s.URL) {
			return errors.New("url is not an absolute http or https URL without credentials")
		}
	case Stdio:
		if s.URL != "" || len(s.Headers) > 0 || s.OAuth != nil {
			return errors.New("a server over stdio has no url, headers or oauth")
		}
		if s.Program == nil || len(s.Program.Command) == 0 || s.Program.Command[0] == "" {
			return errors.New("a server over stdio needs program.command")
		}
		return s.validateProgram()
	default:
		return fmt.Errorf("transport %.80q is none of %s, %s and %s", s.Transport, StreamableHTTP, SSE, Stdio)
	}
	return s.validateOAuth()
}

func (s Server) validateProgram() error {
	for i, text := range s.Program.Command {
		if err := s.validateText(text, true); err != nil {
			return fmt.Errorf("program.command[%d]: %w", i, err)
		}
	}
	seen := map[string]bool{}
	for i, v := range s.Program.Env {
		if !variablePattern.MatchString(v.Name) {
			return fmt.Errorf("program.env[%d] %.80q is not a variable's name", i, v.Name)
		}
		if seen[v.Name] {
			return fmt.Errorf("program.env[%d]: %q is there twice", i, v.Name)
		}
		seen[v.Name] = true
		if err := s.validateText(v.Value, true); err != nil {
			return fmt.Errorf("program.env[%d]: %w", i, err)
		}
	}
	clear(seen)
	for i, f := range s.Program.Files {
		if !fileNamePattern.MatchString(f.Name) {
			return fmt.Errorf("program.files[%d] %.80q is not a file's name without a folder", i, f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("program.files[%d]: %q is there twice", i, f.Name)
		}
		seen[f.Name] = true
		if err := s.validateText(f.Content, false); err != nil {
			return fmt.Errorf("program.files[%d]: %w", i, err)
		}
	}
	return nil
}

// validateText checks a text of a program, which is for a command line or its
// environment or else the content of a file.
func (s Server) validateText(text string, line bool) error {
	if line && strings.ContainsRune(text, 0) {
		return errors.New("a NUL character cannot be passed to a program")
	}
	t, err := template.Parse(text)
	if err != nil {
		return err
	}
	for _, name := range t.Names() {
		switch {
		case name == ConfigDir && line:
		case name == ConfigDir:
			return fmt.Errorf("%s stands for a folder only in program.command and program.env", ConfigDir)
		case !slices.Contains(s.Secrets, name):
			return fmt.Errorf("it uses secret %s, which the server is not granted", name)
		}
	}
	return nil
}

// reserved reports whether a header, in lower case, cannot be set.
func reserved(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.Contains(reservedHeaders, name) || slices.ContainsFunc(reservedPrefixes, begins)
}

func (s Server) validateOAuth() error {
	o := s.OAuth
	if o == nil {
		return nil
	}
	for _, h := range s.Headers {
		if strings.EqualFold(h.Name, "Authorization") {
			return errors.New("oauth and a header Authorization exclude each other")
		}
	}
	if err := o.validate(); err != nil {
		return err
	}
	for _, name := range []string{o.ClientSecret, o.Token} {
		if name != "" && !slices.Contains(s.Secrets, name) {
			return fmt.Errorf("oauth uses secret %s, which the server is not granted", name)
		}
	}
	return nil
}

func (o *OAuth) validate() error {
	if o.Grant != ClientCredentials && o.Grant != AuthorizationCode {
		return fmt.Errorf("oauth.grant %.80q is neither %s nor %s", o.Grant, ClientCredentials, AuthorizationCode)
	}
	if !validURL(o.TokenURL) || o.AuthorizationURL != "" && !validURL(o.AuthorizationURL) {
		return errors.New("oauth.tokenURL and oauth.authorizationURL must be absolute http or https URLs without credentials")
	}
	if o.ClientID == "" {
		return errors.New("oauth.clientID is empty")
	}
	if o.Grant == AuthorizationCode && o.Token == "" || o.Grant == ClientCredentials && o.ClientSecret == "" {
		return fmt.Errorf("oauth: grant %s needs the name of the secret with its credentials", o.Grant)
	}
	return nil
}

func (s Server) validatePolicy() error {
	if s.ProtocolVersion != "" && !versionPattern.MatchString(s.ProtocolVersion) {
		return fmt.Errorf("protocolVersion %.80q is not a date such as 2025-11-25", s.ProtocolVersion)
	}
	if s.ToolsHash != "" && !hashPattern.MatchString(s.ToolsHash) {
		return fmt.Errorf("toolsHash %.80q is not sha256- and 64 hexadecimal digits", s.ToolsHash)
	}
	if !slices.Contains([]Trust{"", Trusted, Untrusted, Sanitize}, s.Trust) {
		return fmt.Errorf("trust %.80q is none of %s, %s and %s", s.Trust, Trusted, Untrusted, Sanitize)
	}
	for name, d := range map[string]Duration{
		"timeouts.connect": s.Timeouts.Connect, "timeouts.call": s.Timeouts.Call, "timeouts.idle": s.Timeouts.Idle,
		"retry.delay": s.Retry.Delay, "cacheTTL": s.CacheTTL,
	} {
		if d < 0 {
			return fmt.Errorf("%s is negative", name)
		}
	}
	if s.MaxResultBytes < 0 || s.Retry.MaxAttempts < 0 || s.Retry.MaxAttempts > maxAttempts {
		return fmt.Errorf("maxResultBytes must not be negative, and retry.maxAttempts must be 0 to %d", maxAttempts)
	}
	return nil
}

func validURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}
