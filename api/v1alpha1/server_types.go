// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServerNamePattern is the form of a server's name, without anchors, for paths of URLs. The
// CEL rules of the CRDs repeat it, and a test holds them together.
const ServerNamePattern = `[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?`

// Server is one MCP server behind a bridge.
//
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.recipe)",message="auth and recipe exclude each other: the recipe says how the bridge gets a token"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.transport) || self.transport.type != 'Stdio'",message="auth belongs to servers that are reached over HTTP: a server over stdio gets its credentials by transport.stdio.env or transport.stdio.files, as ${NAME} of one of its secrets"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.transport) || !has(self.transport.headers) || self.transport.headers.all(h, h.name.lowerAscii() != 'authorization')",message="auth and a header Authorization exclude each other: auth sets that header"
type Server struct {
	// name identifies the server in the bridge, and is the prefix of its tools if
	// the bridge has several servers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$')",message="a server's name must be 1 to 32 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// description is the purpose of the server, for models, in mode Router.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// transport is how the bridge reaches the server. If it is not set, the recipe
	// defines it.
	// +optional
	Transport Transport `json:"transport,omitzero"`

	// recipe is the recipe of the catalog that defines how the bridge reaches the
	// server.
	// +optional
	Recipe *RecipeReference `json:"recipe,omitempty"`

	// auth is how the bridge gets the token that it sends to the server.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// secrets are the names of the user's secrets that this server may use. It sees
	// no others. While one of them is not set, or cannot be opened, only this server
	// is out of service. If the list is empty, a server of a recipe may use the
	// secrets that the recipe named when it was first resolved. If the list is not
	// empty, the server may use only these. A version that names other secrets is
	// followed only if they are listed here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Secrets []SecretName `json:"secrets,omitempty"`

	// tools selects the tools of the server.
	// +optional
	Tools *ToolFilter `json:"tools,omitempty"`

	// trust is how the bridge passes on the server's results.
	// +optional
	// +kubebuilder:default=Trusted
	Trust Trust `json:"trust,omitempty"`

	// timeouts are the time limits for the server.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`

	// retry is whether a failed call is repeated.
	// +optional
	Retry *Retry `json:"retry,omitempty"`

	// cacheTTL is how long the result of a read-only tool is cached for calls with
	// the same arguments. If it is not set, no result is cached.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="cacheTTL must be a duration of 1s to 24h, such as 30s or 5m"
	CacheTTL *metav1.Duration `json:"cacheTTL,omitempty"`

	// maxResultBytes is the maximum size of a result of the server, in bytes of
	// JSON. A larger result is an error. If it is not set, only the protocol's own
	// limits apply.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=67108864
	MaxResultBytes *int32 `json:"maxResultBytes,omitempty"`
}

// RecipeReference names a recipe of the catalog.
type RecipeReference struct {
	// name is the recipe's id.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$')",message="a recipe's name must be 2 to 64 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// version is a version of the recipe from its status.versions. If it is not set,
	// the server follows the latest accepted version, if that runs at the same place
	// with the same secrets.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z][0-9A-Za-z.+_-]*$')",message="version must be one version of the recipe, such as 1.2.3; leave it out to follow the latest"
	Version string `json:"version,omitempty"`

	// resources are the requests and limits of the container, if the recipe's server
	// is a program. Missing values come from the installation's defaults.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// storage changes the volume that the recipe asks for, if it asks for one.
	// +optional
	Storage *RecipeReferenceStorage `json:"storage,omitempty"`
}

// RecipeReferenceStorage changes the volume that a recipe asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !has(oldSelf.size) || quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",message="size cannot become smaller: a volume never shrinks"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot change: a volume stays in its class"
type RecipeReferenceStorage struct {
	// size is the size of the volume. The default is the size that the recipe had
	// when the volume was made: a later version's size changes nothing.
	// +optional
	Size StorageSize `json:"size,omitempty"`

	// storageClassName is the StorageClass of the volume, as in
	// transport.stdio.storage.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retention is what happens to the volume's PersistentVolumeClaim, as in
	// transport.stdio.storage.
	// +optional
	// +kubebuilder:default=Retain
	Retention StorageRetention `json:"retention,omitempty"`
}

// TransportType is a way to reach an MCP server.
//
// +kubebuilder:validation:Enum=StreamableHTTP;SSE;Stdio
type TransportType string

// The transport types.
const (
	// TransportStreamableHTTP is the protocol's streamable HTTP transport.
	TransportStreamableHTTP TransportType = "StreamableHTTP"
	// TransportSSE is the HTTP+SSE transport of 2024-11-05.
	TransportSSE TransportType = "SSE"
	// TransportStdio is a program that reads and writes lines. It runs in its own
	// container in the bridge's pod.
	TransportStdio TransportType = "Stdio"
)

// Transport is how a bridge reaches an MCP server.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Stdio' ? !has(self.url) && !has(self.headers) : has(self.url)",message="url is required where type is StreamableHTTP or SSE, and a transport of type Stdio has neither url nor headers"
// +kubebuilder:validation:XValidation:rule="has(self.stdio) == (self.type == 'Stdio')",message="stdio is required where type is Stdio, and belongs to no other type"
// +kubebuilder:validation:XValidation:rule="!has(self.disableListening) || !self.disableListening || self.type == 'StreamableHTTP'",message="disableListening belongs to the type StreamableHTTP alone"
// +kubebuilder:validation:XValidation:rule="self.type != 'SSE' || !has(self.protocolVersion) || self.protocolVersion != '2026-07-28'",message="protocolVersion 2026-07-28 is not spoken over SSE, which is older: set type StreamableHTTP, or an older version or none"
type Transport struct {
	// type is the transport's kind.
	// +optional
	// +kubebuilder:default=StreamableHTTP
	Type TransportType `json:"type,omitempty"`

	// url is the server's endpoint, if type is StreamableHTTP or SSE.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.matches('^[a-z]+://[^/?#]*@')",message="url must be an absolute http or https URL without credentials, such as https://mcp.example.com/mcp"
	URL string `json:"url,omitempty"`

	// headers are sent with every request to the server, if type is StreamableHTTP
	// or SSE.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`

	// protocolVersion is the only version of MCP that the bridge uses with the
	// server. If it is not set, the two negotiate a version.
	// +optional
	// +kubebuilder:validation:Enum="2024-11-05";"2025-03-26";"2025-06-18";"2025-11-25";"2026-07-28"
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// disableListening disables the stream on which a server over StreamableHTTP
	// sends messages of its own. Some gateways do not answer the request for it.
	// +optional
	DisableListening bool `json:"disableListening,omitempty"`

	// stdio is the program of the server, if type is Stdio.
	// +optional
	Stdio *Stdio `json:"stdio,omitempty"`
}

// Header is one header of a request.
type Header struct {
	// name is the header's name.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$')",message="a header's name must be 1 to 64 letters, digits or hyphens, beginning and ending with a letter or a digit"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'accept', 'accept-encoding', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'last-event-id', 'traceparent', 'tracestate']) && !self.lowerAscii().startsWith('mcp-') && !self.lowerAscii().startsWith('hosted-bridge-')",message="this header belongs to HTTP, MCP or the bridge itself and cannot be set"
	Name string `json:"name"`

	// value is the header's value. ${NAME} is replaced by the user's secret of that
	// name, which spec.servers[].secrets must grant. ${NAME:-text} is replaced by
	// the text if that secret is not set. $$ is a dollar sign. Do not put a secret
	// value here: anyone who may read the HostedBridge can read it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// Auth is how a bridge gets the token that it sends to a server.
type Auth struct {
	// oauth gets the token from an OAuth 2 authorization server.
	// +required
	OAuth *OAuth `json:"oauth,omitempty"`
}

// OAuthGrant is how an OAuth token is obtained.
//
// +kubebuilder:validation:Enum=ClientCredentials;AuthorizationCode
type OAuthGrant string

// The grants.
const (
	// OAuthClientCredentials uses the client's own credentials.
	OAuthClientCredentials OAuthGrant = "ClientCredentials"
	// OAuthAuthorizationCode uses the tokens of a person's login, and refreshes
	// them.
	OAuthAuthorizationCode OAuthGrant = "AuthorizationCode"
)

// OAuth is how a token for a server is obtained.
//
// +kubebuilder:validation:XValidation:rule="self.grant != 'ClientCredentials' || has(self.clientSecret)",message="grant ClientCredentials needs clientSecret, the name of the user's secret with the client's secret"
// +kubebuilder:validation:XValidation:rule="self.grant == 'AuthorizationCode' ? has(self.tokenSecret) : !has(self.tokenSecret)",message="grant AuthorizationCode needs tokenSecret, the name of the user's secret with the tokens of a login, and ClientCredentials has none"
// +kubebuilder:validation:XValidation:rule="self.grant == 'AuthorizationCode' || !has(self.authorizationURL)",message="authorizationURL belongs to the grant AuthorizationCode alone: with ClientCredentials nobody logs in"
type OAuth struct {
	// grant is how the token is obtained.
	// +required
	Grant OAuthGrant `json:"grant"`

	// tokenURL is the authorization server's token endpoint.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.matches('^[a-z]+://[^/?#]*@')",message="tokenURL must be an absolute http or https URL without credentials, such as https://login.example.com/oauth/token"
	TokenURL string `json:"tokenURL"`

	// authorizationURL is the authorization server's authorization endpoint, for
	// AuthorizationCode. If it is set, and the installation has logins enabled, the
	// user connects the account in a browser, which writes tokenSecret.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.matches('^[a-z]+://[^/?#]*@') && !self.contains('#')",message="authorizationURL must be an absolute http or https URL without credentials and without a fragment, such as https://login.example.com/oauth/authorize"
	AuthorizationURL string `json:"authorizationURL,omitempty"`

	// clientID is the client's public name at the authorization server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`

	// clientSecret is the name of the user's secret with the client's secret, which
	// spec.servers[].secrets must grant. A public client has no secret.
	// +optional
	ClientSecret SecretName `json:"clientSecret,omitempty"`

	// tokenSecret is the name of the user's secret with the tokens of a login, for
	// AuthorizationCode, which spec.servers[].secrets must grant. The bridge writes
	// it again when it refreshes the tokens.
	// +optional
	TokenSecret SecretName `json:"tokenSecret,omitempty"`

	// scopes are the requested scopes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`

	// resource identifies the server for which the token is valid, as the
	// authorization server names it (RFC 8707). If it is not set, the request names
	// no resource.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Resource string `json:"resource,omitempty"`
}

// ToolFilter selects the tools of a server, by the server's own names.
type ToolFilter struct {
	// allow lists the allowed tools. If it is empty, all tools are allowed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Allow []string `json:"allow,omitempty"`

	// deny lists the denied tools. It overrides allow.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Deny []string `json:"deny,omitempty"`
}

// Trust is how the bridge passes on a server's results. It makes an attack in a
// result easier to notice, but it is not a security boundary.
//
// +kubebuilder:validation:Enum=Trusted;Untrusted;Sanitize
type Trust string

// The levels.
const (
	// TrustTrusted passes results on unchanged.
	TrustTrusted Trust = "Trusted"
	// TrustUntrusted marks results as foreign text whose instructions must be
	// ignored.
	TrustUntrusted Trust = "Untrusted"
	// TrustSanitize also removes markup, invisible characters and well-known
	// instructions to models from the text.
	TrustSanitize Trust = "Sanitize"
)

// Timeouts are the time limits for a server.
type Timeouts struct {
	// connect limits one attempt to connect, including the start of a program. If it
	// is not set, the bridge's default applies.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="connect must be a duration of 1s to 10m, such as 30s"
	Connect *metav1.Duration `json:"connect,omitempty"`

	// call limits the time from sending a call to its answer. Progress does not
	// extend it. If it is not set, the time is unlimited, since tools may work for
	// hours.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="call must be a duration of 1s to 24h, such as 90s or 2h"
	Call *metav1.Duration `json:"call,omitempty"`

	// idle is how long a connection without calls stays open. If it is not set, the
	// connection stays open.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="idle must be a duration of 10s to 24h, such as 10m"
	Idle *metav1.Duration `json:"idle,omitempty"`
}

// Retry is whether a failed call is repeated. In any case, a call is repeated
// only if it was certainly not delivered, or if its tool declares that a
// repetition is safe.
type Retry struct {
	// maxAttempts is the maximum number of attempts, including the first. If it is
	// not set, it is one, plus one for a call that was not delivered.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`

	// delay is the pause before the second attempt. It doubles with each attempt and
	// has jitter. The default is one second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('1m')",message="delay must be a duration of 10ms to 1m, such as 500ms"
	Delay *metav1.Duration `json:"delay,omitempty"`
}
