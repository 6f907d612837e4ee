// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipefile

import (
	"encoding/json"
	"errors"
)

// Recipe says what an MCP server is and how to install, reach and use it. Its
// fields are those of the version 2 recipe format.
//
// Readers may share the slices and maps of a recipe: nothing changes them.
type Recipe struct {
	// schemaVersion is the recipe format's version.
	// +required
	// +kubebuilder:validation:Enum=2
	// +kubebuilder:validation:Format=int32
	SchemaVersion int `json:"schemaVersion"`

	// id names the recipe in the catalog.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$')",message="id must be 2 to 64 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"
	ID string `json:"id"`

	// name is the recipe's name as people read it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// description says in a sentence or two what the server does.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Description string `json:"description"`

	// repository is the URL of the server's source.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Repository string `json:"repository,omitempty"`

	// recipeVersion is the version of the recipe itself.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RecipeVersion string `json:"recipeVersion,omitempty"`

	// localOnly says what of the server must not be hosted.
	// +optional
	LocalOnly RecipeLocalOnly `json:"localOnly,omitzero"`

	// multiInstance says that one bridge may use the recipe more than once.
	// +optional
	MultiInstance bool `json:"multiInstance,omitempty"`

	// instanceNameHint suggests how to name one of several instances.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	InstanceNameHint string `json:"instanceNameHint,omitempty"`

	// transports are the ways to reach the server: alternatives, not failover.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Transports []RecipeTransport `json:"transports"`

	// auth is what the server wants to know of its user.
	// +optional
	Auth *RecipeAuth `json:"auth,omitempty"`

	// install is how the server gets onto a machine.
	// +optional
	Install *RecipeInstall `json:"install,omitempty"`

	// metadata is what helps people to choose.
	// +optional
	Metadata RecipeMetadata `json:"metadata,omitzero"`

	// capabilities are the parts of the protocol that the server has.
	// +optional
	Capabilities RecipeCapabilities `json:"capabilities,omitzero"`

	// skill is what an agent should know to use the server well.
	// +optional
	Skill *RecipeSkill `json:"skill,omitempty"`

	// signature is the publisher's signature.
	// +optional
	Signature *RecipeSignature `json:"signature,omitempty"`
}

// RecipeLocalOnly says what of a server must not be hosted. In a recipe file
// it is true, or a list of tools.
type RecipeLocalOnly struct {
	// all says that the whole server must run on the user's own machine.
	// +optional
	All bool `json:"all,omitempty"`

	// tools are those that the hosted side hides.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Tools []string `json:"tools,omitempty"`
}

// MarshalJSON implements json.Marshaler: a boolean or the list of tools.
func (l RecipeLocalOnly) MarshalJSON() ([]byte, error) {
	if len(l.Tools) > 0 {
		return json.Marshal(l.Tools)
	}
	return json.Marshal(l.All)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *RecipeLocalOnly) UnmarshalJSON(b []byte) error {
	*l = RecipeLocalOnly{}
	if json.Unmarshal(b, &l.All) == nil || json.Unmarshal(b, &l.Tools) == nil {
		return nil
	}
	return errors.New("must be a boolean or a list of tools")
}

// RecipeTransportType is how a server is reached.
type RecipeTransportType string

// The types.
const (
	Stdio          RecipeTransportType = "stdio"
	SSE            RecipeTransportType = "sse"
	StreamableHTTP RecipeTransportType = "streamable-http"
)

// RecipeTransport is a way to reach a server.
type RecipeTransport struct {
	// type is the transport's kind.
	// +required
	// +kubebuilder:validation:Enum=stdio;sse;streamable-http
	Type RecipeTransportType `json:"type"`

	// command and args start a stdio server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Command string `json:"command,omitempty"`
	// args are the arguments of command; they may hold ${VAR}.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Args []string `json:"args,omitempty"`

	// env is a stdio server's environment; values may hold ${VAR}.
	// +optional
	Env Texts `json:"env,omitempty"`

	// url is a remote server's endpoint; it may hold ${VAR}.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// headers go with each request to a remote server; values may hold ${VAR}.
	// +optional
	Headers Texts `json:"headers,omitempty"`

	// auth is how the bridge authenticates to a remote server.
	// +optional
	Auth *RecipeTransportAuth `json:"auth,omitempty"`

	// framing is how a stdio server delimits its messages.
	// +optional
	// +kubebuilder:validation:Enum=auto;newline;lsp
	Framing string `json:"framing,omitempty"`
}

// RecipeTransportAuth is how the bridge authenticates to a remote server.
type RecipeTransportAuth struct {
	// type is the kind of authentication.
	// +required
	// +kubebuilder:validation:Enum=bearer;header;oauth2
	Type string `json:"type"`

	// token is a bearer token; it may hold ${VAR}.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Token string `json:"token,omitempty"`

	// headers carry the credential; values may hold ${VAR}.
	// +optional
	Headers Texts `json:"headers,omitempty"`

	// grantType is the OAuth grant.
	// +optional
	// +kubebuilder:validation:Enum=client_credentials;authorization_code;device_code
	GrantType string `json:"grantType,omitempty"`

	// clientId and clientSecret may hold ${VAR}.
	// +optional
	ClientID string `json:"clientId,omitempty"`
	// clientSecret is the secret of the OAuth client; it may hold ${VAR}.
	// +optional
	ClientSecret string `json:"clientSecret,omitempty"`

	// authorizationUrl, tokenUrl and deviceAuthorizationUrl are the
	// authorization server's endpoints.
	// +optional
	AuthorizationURL string `json:"authorizationUrl,omitempty"`
	// tokenUrl is where the authorization server gives tokens.
	// +optional
	TokenURL string `json:"tokenUrl,omitempty"`
	// deviceAuthorizationUrl is where a device begins a login.
	// +optional
	DeviceAuthorizationURL string `json:"deviceAuthorizationUrl,omitempty"`

	// scopes are asked for.
	// +optional
	// +listType=atomic
	Scopes []string `json:"scopes,omitempty"`

	// audience is whom the token is for.
	// +optional
	Audience string `json:"audience,omitempty"`

	// callbackPort is where a laptop's browser comes back to after a login.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:Format=int32
	CallbackPort int `json:"callbackPort,omitempty"`
}

// RecipeAuth is what a server wants to know of its user.
type RecipeAuth struct {
	// required says that the server does nothing without it.
	// +optional
	Required bool `json:"required"`

	// type is the kind of credential.
	// +optional
	// +kubebuilder:validation:Enum=api-key;oauth2;basic;bearer;custom;none
	Type string `json:"type,omitempty"`

	// envVars are the variables that the transports name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	EnvVars []string `json:"envVars,omitempty"`

	// credentialsUrl is where the user gets the credential.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CredentialsURL string `json:"credentialsUrl,omitempty"`

	// instructions say how.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Instructions string `json:"instructions,omitempty"`

	// scopes are those the credential needs.
	// +optional
	// +listType=atomic
	Scopes []string `json:"scopes,omitempty"`

	// bootstrap is how the credential first gets in.
	// +optional
	// +kubebuilder:validation:Enum=env-only;interactive;manual
	Bootstrap string `json:"bootstrap,omitempty"`

	// options are alternatives between which the user chooses.
	// +optional
	// +listType=atomic
	Options []RecipeAuthOption `json:"options,omitempty"`

	// oauth2 is how a stdio server takes an OAuth token.
	// +optional
	OAuth2 *RecipeAuthOAuth2 `json:"oauth2,omitempty"`
}

// RecipeAuthOption is one way to authenticate among several.
type RecipeAuthOption struct {
	// id names the option.
	// +required
	ID string `json:"id"`
	// label is the option's name as people read it.
	// +optional
	Label string `json:"label,omitempty"`
	// type is the kind of credential.
	// +optional
	Type string `json:"type,omitempty"`
	// recommended marks the option to try first.
	// +optional
	Recommended bool `json:"recommended,omitempty"`
}

// RecipeAuthOAuth2 is how a stdio server takes an OAuth token.
type RecipeAuthOAuth2 struct {
	// envBinding is the variable that receives the token.
	// +optional
	EnvBinding string `json:"envBinding,omitempty"`
	// credentialsFileType is the format of the file that receives it.
	// +optional
	CredentialsFileType string `json:"credentialsFileType,omitempty"`
}

// RecipeInstall is how a server gets onto a machine.
type RecipeInstall struct {
	// method is the installer.
	// +required
	// +kubebuilder:validation:Enum=npx;npm;pip;uvx;docker;binary;go;git
	Method string `json:"method"`

	// package and version are the installer's.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Package string `json:"package,omitempty"`
	// version is the version of the package, or a tag or a commit with git.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// image is a container image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// repository, buildCommand and binary are for servers built from source.
	// +optional
	Repository string `json:"repository,omitempty"`
	// buildCommand builds a server from source.
	// +optional
	BuildCommand string `json:"buildCommand,omitempty"`
	// binary is the program that buildCommand makes.
	// +optional
	Binary string `json:"binary,omitempty"`

	// preInstall and postInstall are commands to run before and after. The
	// catalog accepts no recipe that has any.
	// +optional
	// +listType=atomic
	PreInstall []string `json:"preInstall,omitempty"`
	// postInstall are commands to run after the install. The catalog accepts no recipe that
	// has any.
	// +optional
	// +listType=atomic
	PostInstall []string `json:"postInstall,omitempty"`

	// platforms is what differs on an operating system: linux, darwin or win32.
	// +optional
	Platforms map[string]RecipePlatform `json:"platforms,omitempty"`

	// configFiles are written for the server before it starts.
	// +optional
	// +listType=atomic
	ConfigFiles []RecipeConfigFile `json:"configFiles,omitempty"`

	// storage is what the program keeps in files. On a hosted bridge it gets a volume
	// for them.
	// +optional
	Storage *RecipeStorage `json:"storage,omitempty"`

	// toolsHash is the hash of the server's tool list at review.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ToolsHash string `json:"toolsHash,omitempty"`

	// prerequisites are programs and their versions, for people.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Prerequisites Values `json:"prerequisites,omitempty"`

	// healthcheck and verifyCommand are commands for people. Nothing runs them.
	// +optional
	Healthcheck string `json:"healthcheck,omitempty"`
	// verifyCommand is a command for people by which they see that the install worked. Nothing
	// runs it.
	// +optional
	VerifyCommand string `json:"verifyCommand,omitempty"`
}

// RecipeStorage is the volume that a program needs on a hosted bridge. On a
// personal machine it has no effect.
type RecipeStorage struct {
	// size is the size of the volume, such as 100Mi.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size"`
	// mountPath is where the program has the volume; /data if it is not set.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	MountPath string `json:"mountPath,omitempty"`
	// paths are environment variables of the program that name a file or folder of
	// the volume, relative to mountPath. They replace those of the transport.
	// +optional
	Paths Texts `json:"paths,omitempty"`
}

// RecipePlatform is what of a transport differs on one operating system.
type RecipePlatform struct {
	// command is in place of the command of the transport.
	// +optional
	Command string `json:"command,omitempty"`
	// args are in place of the arguments of the transport.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// env are variables in place of those of the transport.
	// +optional
	Env Texts `json:"env,omitempty"`
}

// RecipeConfigFile is a file that a server reads.
type RecipeConfigFile struct {
	// name of the file.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// content of the file; it may hold ${VAR}.
	// +required
	// +kubebuilder:validation:MaxLength=65536
	Content string `json:"content"`
}

// RecipeMetadata is what helps people to choose.
type RecipeMetadata struct {
	// homepage, license, author and maintainer are the server's.
	// +optional
	Homepage string `json:"homepage,omitempty"`
	// license is the license of the server, such as MIT.
	// +optional
	License string `json:"license,omitempty"`
	// author is who wrote the server.
	// +optional
	Author string `json:"author,omitempty"`
	// maintainer is who looks after the server.
	// +optional
	Maintainer *RecipeMaintainer `json:"maintainer,omitempty"`

	// tags, category and subcategory file the recipe.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tags []string `json:"tags,omitempty"`
	// category is the kind of server under which catalogs list it.
	// +optional
	Category string `json:"category,omitempty"`
	// subcategory is a part of the category.
	// +optional
	Subcategory string `json:"subcategory,omitempty"`

	// origin is who made the server.
	// +optional
	// +kubebuilder:validation:Enum=official;community;aiwerk
	Origin string `json:"origin,omitempty"`

	// countries, languages and audience say for whom it is.
	// +optional
	// +listType=atomic
	Countries []string `json:"countries,omitempty"`
	// languages are those of the people for whom the server is.
	// +optional
	// +listType=atomic
	Languages []string `json:"languages,omitempty"`
	// audience is for whom the server is, as the author describes it.
	// +optional
	Audience string `json:"audience,omitempty"`

	// selfHosted says that the server speaks to something the user runs.
	// +optional
	SelfHosted bool `json:"selfHosted,omitempty"`

	// sideEffects is what a call can do.
	// +optional
	// +kubebuilder:validation:Enum=read-only;read-write;billing-impact
	SideEffects string `json:"sideEffects,omitempty"`

	// pricing and maturity are as the author describes them.
	// +optional
	Pricing string `json:"pricing,omitempty"`
	// maturity is how mature the server is, as the author describes it.
	// +optional
	Maturity string `json:"maturity,omitempty"`

	// firstPublished and lastVerified are dates, YYYY-MM-DD.
	// +optional
	FirstPublished string `json:"firstPublished,omitempty"`
	// lastVerified is the date when the recipe was last tried, YYYY-MM-DD.
	// +optional
	LastVerified string `json:"lastVerified,omitempty"`

	// toolCount, toolExamples and resourceExamples show what is in it.
	// +optional
	// +kubebuilder:validation:Format=int32
	ToolCount int `json:"toolCount,omitempty"`
	// toolExamples are some of the server's tools.
	// +optional
	// +listType=atomic
	ToolExamples []RecipeToolExample `json:"toolExamples,omitempty"`
	// resourceExamples are some of the server's resources.
	// +optional
	// +listType=atomic
	ResourceExamples []RecipeResourceExample `json:"resourceExamples,omitempty"`

	// authSummary says in a few words what the user needs.
	// +optional
	AuthSummary string `json:"authSummary,omitempty"`

	// rateLimit is the author's advice.
	// +optional
	RateLimit *RecipeRateLimit `json:"rateLimit,omitempty"`

	// costPerCall, in costCurrency, is a decimal number. It is a text here, as
	// the API has no such numbers; in a recipe file it is a number.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)?$')",message="costPerCall must be a decimal number in quotes, such as '0.005'"
	CostPerCall float64 `json:"costPerCall,omitempty"`
	// costCurrency is the currency of costPerCall, such as USD.
	// +optional
	CostCurrency string `json:"costCurrency,omitempty"`

	// verification is what was tried, and when.
	// +optional
	Verification *RecipeVerification `json:"verification,omitempty"`

	// icon is the picture of the server: a square PNG of 32 to 256 pixels and at most 16 KiB, as a
	// data URL.
	// +optional
	// +kubebuilder:validation:MaxLength=22000
	Icon string `json:"icon,omitempty"`

	// sources are the public pages from which the facts of the recipe were taken.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Sources []string `json:"sources,omitempty"`

	// checked is how the facts were checked: read means that they were read on
	// pages and the server was never called; called means that the server was
	// called or started as the recipe says.
	// +optional
	// +kubebuilder:validation:Enum=read;called
	Checked string `json:"checked,omitempty"`
}

// RecipeToolExample is one of a server's tools.
type RecipeToolExample struct {
	// name of the tool.
	// +required
	Name string `json:"name"`
	// description is what the tool does.
	// +optional
	Description string `json:"description,omitempty"`
}

// RecipeResourceExample is one of a server's resources.
type RecipeResourceExample struct {
	// uri of the resource.
	// +required
	URI string `json:"uri"`
	// description is what the resource is.
	// +optional
	Description string `json:"description,omitempty"`
}

// RecipeMaintainer is who looks after a server.
type RecipeMaintainer struct {
	// name of the maintainer.
	// +optional
	Name string `json:"name,omitempty"`
	// email is the maintainer's address.
	// +optional
	Email string `json:"email,omitempty"`
	// github is the maintainer's name at GitHub.
	// +optional
	GitHub string `json:"github,omitempty"`
	// url is the maintainer's page.
	// +optional
	URL string `json:"url,omitempty"`
}

// RecipeRateLimit is how often to call, by the author's advice.
type RecipeRateLimit struct {
	// suggestedDailyLimit is how many calls a day the author advises at most.
	// +optional
	// +kubebuilder:validation:Format=int64
	SuggestedDailyLimit int `json:"suggestedDailyLimit,omitempty"`
	// suggestedMonthlyLimit is how many calls a month the author advises at most.
	// +optional
	// +kubebuilder:validation:Format=int64
	SuggestedMonthlyLimit int `json:"suggestedMonthlyLimit,omitempty"`
}

// RecipeVerification is what was tried of a recipe, and when.
type RecipeVerification struct {
	// tier1 says that the server starts and lists its tools.
	// +optional
	// +kubebuilder:validation:Enum=pass
	Tier1 string `json:"tier1,omitempty"`

	// tier2 says that a tool was called with real credentials.
	// +optional
	// +kubebuilder:validation:Enum=pass;skip
	Tier2 string `json:"tier2,omitempty"`
	// tier2Tools is how many tools were called with real credentials.
	// +optional
	// +kubebuilder:validation:Format=int32
	Tier2Tools int `json:"tier2Tools,omitempty"`
	// tier2Date is the date of tier2, YYYY-MM-DD.
	// +optional
	Tier2Date string `json:"tier2Date,omitempty"`
	// tier2Reason is why tier2 was skipped.
	// +optional
	Tier2Reason string `json:"tier2Reason,omitempty"`
	// tier2Note is a remark about tier2.
	// +optional
	Tier2Note string `json:"tier2Note,omitempty"`

	// depAudit is what an audit of the dependencies said.
	// +optional
	// +kubebuilder:validation:Enum=clean;has-advisories;not-applicable;skip
	DepAudit string `json:"depAudit,omitempty"`
	// depAuditDate is the date of depAudit, YYYY-MM-DD.
	// +optional
	DepAuditDate string `json:"depAuditDate,omitempty"`
	// depAuditNote is a remark about depAudit.
	// +optional
	DepAuditNote string `json:"depAuditNote,omitempty"`
}

// RecipeCapabilities are the parts of the protocol that a server has.
type RecipeCapabilities struct {
	// tools says that the server has tools.
	// +optional
	Tools bool `json:"tools,omitempty"`
	// resources says that the server has resources.
	// +optional
	Resources bool `json:"resources,omitempty"`
	// prompts says that the server has prompts.
	// +optional
	Prompts bool `json:"prompts,omitempty"`
	// sampling says that the server asks the client for answers of its model.
	// +optional
	Sampling bool `json:"sampling,omitempty"`

	// toolCount, toolNames and sideEffects are of the tools.
	// +optional
	// +kubebuilder:validation:Format=int32
	ToolCount int `json:"toolCount,omitempty"`
	// toolNames are the names of the tools.
	// +optional
	// +listType=atomic
	ToolNames []string `json:"toolNames,omitempty"`
	// sideEffects is what the tools can do.
	// +optional
	SideEffects string `json:"sideEffects,omitempty"`
}

// RecipeSkill is what an agent should know to use a server well.
type RecipeSkill struct {
	// apiVersion and apiVersionNote name the service's API that is meant.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// apiVersionNote is a remark about apiVersion.
	// +optional
	APIVersionNote string `json:"apiVersionNote,omitempty"`

	// gotchas are what goes wrong.
	// +optional
	// +listType=atomic
	Gotchas []RecipeGotcha `json:"gotchas,omitempty"`

	// workflows are tools in their order.
	// +optional
	// +listType=atomic
	Workflows []RecipeWorkflow `json:"workflows,omitempty"`

	// bestPractices are single sentences.
	// +optional
	// +listType=atomic
	BestPractices []string `json:"bestPractices,omitempty"`
}

// RecipeGotcha is something that goes wrong with a server.
type RecipeGotcha struct {
	// id names what goes wrong.
	// +required
	ID string `json:"id"`
	// summary says what goes wrong, and what to do.
	// +required
	Summary string `json:"summary"`
	// tools are the tools with which it goes wrong.
	// +optional
	// +listType=atomic
	Tools []string `json:"tools,omitempty"`
}

// RecipeWorkflow is a use of several tools in their order.
type RecipeWorkflow struct {
	// id names the workflow.
	// +required
	ID string `json:"id"`
	// name is the name of the workflow as people read it.
	// +required
	Name string `json:"name"`
	// steps are what to do, in order.
	// +optional
	// +listType=atomic
	Steps []string `json:"steps"`
}

// RecipeSignature is a publisher's signature over the named fields of a
// recipe, as compact JSON with keys sorted at every level.
type RecipeSignature struct {
	// algorithm of the signature.
	// +required
	// +kubebuilder:validation:Enum=ed25519
	Algorithm string `json:"algorithm"`

	// publisherId is whose key made it.
	// +required
	PublisherID string `json:"publisherId"`

	// value is the signature in base64.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value"`

	// signedFields are the recipe's top-level fields under the signature.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	SignedFields []string `json:"signedFields"`

	// signedAt is when, as the publisher wrote it: a time of RFC 3339.
	// +required
	// +kubebuilder:validation:MaxLength=40
	SignedAt string `json:"signedAt"`
}
