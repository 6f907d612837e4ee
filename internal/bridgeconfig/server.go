// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// Transport is the way to reach a server.
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
	// Name is unique within the bridge and prefixes the server's tools if there are several
	// servers. A recipe leaves it empty.
	Name string `json:"name,omitempty"`
	// Description is the purpose of the server, shown in mode Router.
	Description string `json:"description,omitempty"`
	// Transport is the way to reach the server. The default is StreamableHTTP.
	Transport Transport `json:"transport,omitempty"`
	// URL is the server's endpoint, http or https, without credentials. It is empty for stdio.
	URL string `json:"url,omitempty"`
	// Headers are sent with every request to the server, in this order. ${NAME} in a value stands
	// for a secret of the user.
	Headers []Header `json:"headers,omitempty"`
	// OAuth says how the bridge gets the token for the server. With OAuth, no header may be
	// Authorization.
	OAuth *OAuth `json:"oauth,omitempty"`
	// ConnectURL is the page on which the user logs in to the account of OAuth; empty if there is
	// none. It is for people: the bridge sends no request to it.
	ConnectURL string `json:"connectURL,omitempty"`
	// Program is the program of a server over stdio.
	Program *Program `json:"program,omitempty"`
	// ProtocolVersion is the only version that the bridge uses with the server. If it is empty,
	// they negotiate one.
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// NoListening prevents the bridge from opening the stream for messages outside of answers, at
	// a server over streamable HTTP: some gateways do not answer it.
	NoListening bool `json:"noListening,omitempty"`
	// Secrets are the names of the user's secrets that this server may use.
	Secrets []string `json:"secrets,omitempty"`
	// Shared is the SharedServer whose secrets this server uses, in place of the user's.
	Shared string `json:"shared,omitempty"`
	// Tools selects the tools of this server.
	Tools Tools `json:"tools,omitzero"`
	// ToolsHash is the hash of the server's audited tools, sha256- and 64 hexadecimal digits, as
	// in a recipe. It covers all tools of the server, including those that Tools removes. A server
	// with other tools is out of service. If it is empty, nothing is compared.
	ToolsHash string `json:"toolsHash,omitempty"`
	// Trust says how results of the server are changed. The default is Trusted.
	Trust Trust `json:"trust,omitempty"`
	// Timeouts are the time limits of the server.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// Retry says whether failed calls are retried.
	Retry Retry `json:"retry,omitzero"`
	// CacheTTL is how long results of read-only tools are cached, for calls with the same
	// arguments. Zero disables the cache.
	CacheTTL Duration `json:"cacheTTL,omitzero"`
	// MaxResultBytes limits a result, in bytes of JSON. Zero means that only the transport's limit
	// applies.
	MaxResultBytes int `json:"maxResultBytes,omitempty"`
	// Fault says why the server is out of service, in words for users. It is empty for a server in
	// service. The bridge sends no request to a server with a fault.
	Fault string `json:"fault,omitempty"`
	// Pending says that the server's program is not there yet. The bridge does not connect to such a
	// server, and calls of it wait for a configuration without Pending.
	Pending *Pending `json:"pending,omitempty"`
}

// Pending is why the program of a server is not there yet.
type Pending struct {
	// Reason says in words for users what happens, such as "the package is being installed for the
	// first time".
	Reason string `json:"reason"`
	// Since is when that began.
	Since time.Time `json:"since"`
}

func (p *Pending) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Reason == "" || len(p.Reason) > maxPending || strings.ContainsFunc(p.Reason, unicode.IsControl) || !utf8.ValidString(p.Reason):
		return fmt.Errorf("pending.reason has %d bytes; it must be one line of 1 to %d", len(p.Reason), maxPending)
	case p.Since.IsZero():
		return errors.New("pending.since is missing; it must be a time such as 2026-01-02T03:04:05Z")
	}
	return nil
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

// Program is a server that uses stdin and stdout.
type Program struct {
	// Socket is the socket of the shim that runs the program in another container. If it is empty,
	// the bridge runs the program itself.
	Socket string `json:"socket,omitempty"`
	// Command is the program and its arguments, which may name secrets.
	Command []string `json:"command"`
	// Env are the program's variables, in addition to the few that every program gets. Their
	// values may name secrets.
	Env []Variable `json:"env,omitempty"`
	// Files are written before the program starts, readable only by the program, to the folder
	// that ${CONFIG_DIR} stands for in Command and Env.
	Files []File `json:"files,omitempty"`
	// Dir is the program's working directory.
	Dir string `json:"dir,omitempty"`
	// Bundle has the files of the program, which the bridge fetches before it starts the
	// program. It is nil for a program whose container has them.
	Bundle *Bundle `json:"bundle,omitempty"`
	// Storage is the volume that a recipe asks for. The place that hosts the program
	// provides it; a bridge's configuration does not have it.
	Storage *Storage `json:"storage,omitempty"`
}

// Storage is a volume for a program's files.
type Storage struct {
	// Size is a quantity of Kubernetes, such as 100Mi.
	Size string `json:"size"`
	// MountPath is where the program has the volume, /data if empty.
	MountPath string `json:"mountPath,omitempty"`
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

// Grant is the OAuth grant for a token.
type Grant string

// The grants.
const (
	// ClientCredentials uses the client's own credentials (RFC 6749, section 4.4).
	ClientCredentials Grant = "client_credentials"
	// AuthorizationCode uses and refreshes the tokens of a user's login (RFC 6749, sections 4.1
	// and 6).
	AuthorizationCode Grant = "authorization_code"
)

// OAuth says how to get a token for a server.
type OAuth struct {
	Grant Grant `json:"grant"`
	// TokenURL is the authorization server's token endpoint.
	TokenURL string `json:"tokenURL"`
	// AuthorizationURL is the page on which the user logs in. Only `bridge login` uses it: hosted
	// bridges do not get it.
	AuthorizationURL string `json:"authorizationURL,omitempty"`
	// ClientID is the client's public id.
	ClientID string `json:"clientID"`
	// ClientSecret is the name of the user's secret with the client secret. A public client has
	// none.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Token is the name of the user's secret with the tokens of a login, for AuthorizationCode.
	// The bridge replaces its value after a refresh.
	Token string `json:"token,omitempty"`
	// Scopes are the requested scopes.
	Scopes []string `json:"scopes,omitempty"`
	// Resource is the server that the token is for (RFC 8707). If it is empty, none is sent.
	Resource string `json:"resource,omitempty"`
}

// Tools selects tools of a server, by the server's own names.
type Tools struct {
	// Allow, if not empty, hides all other tools.
	Allow []string `json:"allow,omitempty"`
	// Deny hides these tools, even if Allow names them.
	Deny []string `json:"deny,omitempty"`
}

// Allows reports whether the tool can be listed and called.
func (t Tools) Allows(tool string) bool {
	return !slices.Contains(t.Deny, tool) && (len(t.Allow) == 0 || slices.Contains(t.Allow, tool))
}

// Trust says how a server's results are changed. It makes an attack through a result easier to
// notice; it is not a security boundary.
type Trust string

// The levels.
const (
	Trusted Trust = "trusted"
	// Untrusted marks results as foreign text whose instructions do not count.
	Untrusted Trust = "untrusted"
	// Sanitize also removes markup, invisible characters and well-known instructions to models.
	Sanitize Trust = "sanitize"
)

// Timeouts are the time limits of a server. Zero means the bridge's default.
type Timeouts struct {
	// Connect limits one attempt to connect, including the start of a program.
	Connect Duration `json:"connect,omitzero"`
	// Call limits a call from its request to its answer. Progress does not extend it. The default
	// is no limit, because tools may work for hours.
	Call Duration `json:"call,omitzero"`
	// Idle is how long an unused connection stays open. The default is for ever.
	Idle Duration `json:"idle,omitzero"`
}

// Retry says whether failed calls are retried. In any case, a call is only repeated if it was
// certainly not delivered or its tool declares that repeating it is safe.
type Retry struct {
	// MaxAttempts includes the first attempt. Zero means one attempt, and one more for a call that
	// was not delivered.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// Delay is the pause before the second attempt. It doubles with each attempt and has jitter.
	// Zero means one second.
	Delay Duration `json:"delay,omitzero"`
}

// Templates returns all texts of the server that can name secrets, in a fixed order.
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

// Required returns the secrets without which the server is out of service: all that it may use,
// except for secrets that occur only with a default.
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

// ConfigDir is the name of the folder with a program's files, in the program's texts. It is not a
// secret.
const ConfigDir = "CONFIG_DIR"

func (s Server) validate() error {
	if err := s.validateSecrets(); err != nil {
		return err
	}
	if err := s.validateTransport(); err != nil {
		return err
	}
	if err := s.validateShared(); err != nil {
		return err
	}
	if o := s.OAuth; s.ConnectURL != "" && (!validURL(s.ConnectURL) || o == nil || o.Grant != AuthorizationCode) {
		return fmt.Errorf("connectURL must be an absolute http or https URL without credentials, of a server whose oauth.grant is %s", AuthorizationCode)
	}
	if len(s.Fault) > maxFault {
		return fmt.Errorf("fault has %d bytes; it must be at most %d", len(s.Fault), maxFault)
	}
	if err := s.Pending.validate(); err != nil {
		return err
	}
	return s.validatePolicy()
}

// validateSecrets checks the names of the server's secrets, and that its texts use no others.
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
	if !named(h.Name, headerNamePattern, maxHeaderName) {
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
	// The text around the secrets must fit into a header, whatever their values are.
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
		return fmt.Errorf("transport %.80q must be one of %s, %s and %s", s.Transport, StreamableHTTP, SSE, Stdio)
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
		if !named(v.Name, variablePattern, maxVariable) {
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
	if err := s.validateFiles(); err != nil {
		return err
	}
	return s.Program.Bundle.validate()
}

func (s Server) validateFiles() error {
	seen := map[string]bool{}
	for i, f := range s.Program.Files {
		if !named(f.Name, fileNamePattern, maxFileName) {
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

// validateText checks a text of a program. line says that it is for a command line or environment
// variable, else it is the content of a file.
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
	if s.ToolsHash != "" && !IsToolsHash(s.ToolsHash) {
		return fmt.Errorf("toolsHash %.80q is not sha256- and 64 hexadecimal digits", s.ToolsHash)
	}
	if !slices.Contains([]Trust{"", Trusted, Untrusted, Sanitize}, s.Trust) {
		return fmt.Errorf("trust %.80q must be one of %s, %s and %s", s.Trust, Trusted, Untrusted, Sanitize)
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
