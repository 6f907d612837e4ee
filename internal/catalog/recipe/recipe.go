// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipe describes MCP servers so that others can install them. It
// reads recipes of version 2, and lifts those of version 1 and the official
// registry's server.json to version 2. It has their rules, their signatures and
// their conversion to a bridge's configuration.
//
// The package is pure: times and randomness are arguments.
package recipe

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Recipe describes one server, in version 2 of the format.
type Recipe struct {
	SchemaVersion    int          `json:"schemaVersion"`
	ID               string       `json:"id"`
	Name             string       `json:"name"`
	Description      string       `json:"description"`
	Repository       string       `json:"repository,omitempty"`
	RecipeVersion    string       `json:"recipeVersion,omitempty"`
	LocalOnly        LocalOnly    `json:"localOnly,omitzero"`
	MultiInstance    bool         `json:"multiInstance,omitempty"`
	InstanceNameHint string       `json:"instanceNameHint,omitempty"`
	Transports       []Transport  `json:"transports"`
	Auth             *Auth        `json:"auth,omitempty"`
	Install          *Install     `json:"install,omitempty"`
	Metadata         Metadata     `json:"metadata,omitzero"`
	Capabilities     Capabilities `json:"capabilities,omitzero"`
	Skill            *Skill       `json:"skill,omitempty"`
	Signature        *Signature   `json:"signature,omitempty"`
}

// LocalOnly says whether a recipe is for personal machines only.
type LocalOnly struct {
	// All keeps the whole server off hosted bridges.
	All bool
	// Tools are the tools that a hosted bridge does not show.
	Tools []string
}

// MarshalJSON implements json.Marshaler: a boolean or the list of tools.
func (l LocalOnly) MarshalJSON() ([]byte, error) {
	if len(l.Tools) > 0 {
		return json.Marshal(l.Tools)
	}
	return json.Marshal(l.All)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *LocalOnly) UnmarshalJSON(b []byte) error {
	*l = LocalOnly{}
	if json.Unmarshal(b, &l.All) == nil || json.Unmarshal(b, &l.Tools) == nil {
		return nil
	}
	return errors.New("must be a boolean or a list of tools")
}

// TransportType is how a server is reached.
type TransportType string

// The types.
const (
	Stdio          TransportType = "stdio"
	SSE            TransportType = "sse"
	StreamableHTTP TransportType = "streamable-http"
)

// Transport is one way to reach the server. Several are alternatives: one is
// chosen when the server is installed.
type Transport struct {
	Type    TransportType           `json:"type"`
	Command string                  `json:"command,omitempty"`
	Args    []string                `json:"args,omitempty"`
	Env     jsondoc.Ordered[string] `json:"env,omitempty"`
	URL     string                  `json:"url,omitempty"`
	Headers jsondoc.Ordered[string] `json:"headers,omitempty"`
	Auth    *TransportAuth          `json:"auth,omitempty"`
	Framing string                  `json:"framing,omitempty"`
}

// TransportAuth is how requests to a remote server are authorized.
type TransportAuth struct {
	// Type is bearer, header or oauth2.
	Type    string                  `json:"type"`
	Token   string                  `json:"token,omitempty"`
	Headers jsondoc.Ordered[string] `json:"headers,omitempty"`
	// GrantType is client_credentials, which is the default, authorization_code
	// or device_code.
	GrantType              string   `json:"grantType,omitempty"`
	ClientID               string   `json:"clientId,omitempty"`
	ClientSecret           string   `json:"clientSecret,omitempty"`
	AuthorizationURL       string   `json:"authorizationUrl,omitempty"`
	TokenURL               string   `json:"tokenUrl,omitempty"`
	DeviceAuthorizationURL string   `json:"deviceAuthorizationUrl,omitempty"`
	Scopes                 []string `json:"scopes,omitempty"`
	Audience               string   `json:"audience,omitempty"`
	CallbackPort           int      `json:"callbackPort,omitempty"`
}

// authorizationCode is the grant of a person's login.
const authorizationCode = "authorization_code"

// Discovers reports whether the authorization server is the one that the MCP
// server itself names (RFC 9728): the recipe gives neither of its URLs. Without a
// clientId, the client that logs in registers itself there (RFC 7591).
func (a TransportAuth) Discovers() bool {
	return a.Type == "oauth2" && a.GrantType == authorizationCode && a.TokenURL == "" && a.AuthorizationURL == ""
}

// Auth describes the credentials that a person must provide.
type Auth struct {
	Required bool `json:"required"`
	// Type is api-key, oauth2, basic, bearer, custom or none.
	Type           string       `json:"type,omitempty"`
	EnvVars        []string     `json:"envVars,omitempty"`
	CredentialsURL string       `json:"credentialsUrl,omitempty"`
	Instructions   string       `json:"instructions,omitempty"`
	Scopes         []string     `json:"scopes,omitempty"`
	Bootstrap      string       `json:"bootstrap,omitempty"`
	Options        []AuthOption `json:"options,omitempty"`
	OAuth2         *AuthOAuth2  `json:"oauth2,omitempty"`
}

// AuthOption is one of several ways to authenticate.
type AuthOption struct {
	ID          string `json:"id"`
	Label       string `json:"label,omitempty"`
	Type        string `json:"type,omitempty"`
	Recommended bool   `json:"recommended,omitempty"`
}

// AuthOAuth2 describes how a program gets a token after its user logged in.
type AuthOAuth2 struct {
	EnvBinding          string `json:"envBinding,omitempty"`
	CredentialsFileType string `json:"credentialsFileType,omitempty"`
}

// Install describes how the server's program is installed on a machine.
type Install struct {
	// Method is one of npx, npm, pip, uvx, docker, binary, go and git.
	Method        string                         `json:"method"`
	Package       string                         `json:"package,omitempty"`
	Version       string                         `json:"version,omitempty"`
	Image         string                         `json:"image,omitempty"`
	Repository    string                         `json:"repository,omitempty"`
	BuildCommand  string                         `json:"buildCommand,omitempty"`
	Binary        string                         `json:"binary,omitempty"`
	PreInstall    []string                       `json:"preInstall,omitempty"`
	PostInstall   []string                       `json:"postInstall,omitempty"`
	Platforms     map[string]Platform            `json:"platforms,omitempty"`
	ConfigFiles   []ConfigFile                   `json:"configFiles,omitempty"`
	Storage       *Storage                       `json:"storage,omitempty"`
	ToolsHash     string                         `json:"toolsHash,omitempty"`
	Prerequisites jsondoc.Ordered[jsondoc.Value] `json:"prerequisites,omitempty"`
	Healthcheck   string                         `json:"healthcheck,omitempty"`
	VerifyCommand string                         `json:"verifyCommand,omitempty"`
}

// Storage is the volume that the program needs where it is hosted. A personal
// machine has its own files.
type Storage struct {
	// Size is a quantity such as 100Mi.
	Size      string `json:"size"`
	MountPath string `json:"mountPath,omitempty"`
	// Paths are variables of the program, each with a path in the volume.
	Paths jsondoc.Ordered[string] `json:"paths,omitempty"`
}

// Folder returns where the program has the volume.
func (s Storage) Folder() string {
	if s.MountPath == "" {
		return "/data"
	}
	return s.MountPath
}

// over returns the variables of a hosted program.
func (s Storage) over(env jsondoc.Ordered[string]) jsondoc.Ordered[string] {
	env = slices.Clone(env)
	for _, p := range s.Paths {
		env = slices.DeleteFunc(env, func(old jsondoc.Entry[string]) bool { return old.Name == p.Name })
		env = append(env, jsondoc.Entry[string]{Name: p.Name, Value: s.Folder() + "/" + p.Value})
	}
	return env
}

// Platform is what differs on one operating system, named as in Node.js: linux,
// darwin or win32.
type Platform struct {
	Command string                  `json:"command,omitempty"`
	Args    []string                `json:"args,omitempty"`
	Env     jsondoc.Ordered[string] `json:"env,omitempty"`
}

// ConfigFile is a file that the program reads. Its content is literal.
type ConfigFile struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Capabilities are what the server offers.
type Capabilities struct {
	Tools       bool     `json:"tools,omitempty"`
	Resources   bool     `json:"resources,omitempty"`
	Prompts     bool     `json:"prompts,omitempty"`
	Sampling    bool     `json:"sampling,omitempty"`
	ToolCount   int      `json:"toolCount,omitempty"`
	ToolNames   []string `json:"toolNames,omitempty"`
	SideEffects string   `json:"sideEffects,omitempty"`
}

// Skill is useful knowledge about the service behind the server.
type Skill struct {
	APIVersion     string     `json:"apiVersion,omitempty"`
	APIVersionNote string     `json:"apiVersionNote,omitempty"`
	Gotchas        []Gotcha   `json:"gotchas,omitempty"`
	Workflows      []Workflow `json:"workflows,omitempty"`
	BestPractices  []string   `json:"bestPractices,omitempty"`
}

// Gotcha is a behaviour that surprises.
type Gotcha struct {
	ID      string   `json:"id"`
	Summary string   `json:"summary"`
	Tools   []string `json:"tools,omitempty"`
}

// Workflow is a way to do something common.
type Workflow struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Steps []string `json:"steps"`
}

// Signature is a publisher's signature.
type Signature struct {
	// Algorithm is ed25519.
	Algorithm   string `json:"algorithm"`
	PublisherID string `json:"publisherId"`
	// Value is the signature in base64.
	Value string `json:"value"`
	// SignedFields are the recipe's members that the signature covers.
	SignedFields []string `json:"signedFields"`
	// SignedAt is a time in RFC 3339 format.
	SignedAt string `json:"signedAt"`
}
