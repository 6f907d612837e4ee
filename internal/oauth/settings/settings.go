// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings is the file by which an installation says who may log in:
// whose access tokens it takes, and what its own authorization server does. The
// package is pure: it reads bytes, and what of them is good is decided here, so
// that no process starts with a half of it.
package settings

import (
	"net/url"
	"slices"
	"time"
)

// Settings are the file's.
type Settings struct {
	// PublicURL is the origin under which the installation is called, such as
	// https://bridges.example.com. Tokens are for URLs that begin with it, and it
	// is the issuer of the installation's own server.
	PublicURL string `yaml:"publicURL"`
	// CAFile is the path of certificates in PEM that vouch for issuers and
	// providers beside the system's; empty for none. Those of an organization's own
	// are seldom signed by others.
	CAFile string `yaml:"caFile"`
	// Issuers are the authorization servers of others whose tokens are taken.
	Issuers []Issuer `yaml:"issuers"`
	// TrustedNamespaces are those whose HostedBridges say for the installation whose
	// bridges they are: at the URL for everyone, a login counts there although its
	// person never agreed to the bridge. The namespace of onboarding is one of them.
	TrustedNamespaces []string `yaml:"trustedNamespaces"`
	// Server is the installation's own; nil if it has none.
	Server *Server `yaml:"server"`
}

// Issuer is an authorization server whose access tokens are taken.
type Issuer struct {
	// Issuer is the iss of its tokens, byte for byte.
	Issuer string `yaml:"issuer"`
	// JWKSURL is where its keys are; empty for where its metadata says.
	JWKSURL string `yaml:"jwksURL"`
	// Algorithms and Types are what its tokens may have as alg and typ. None are
	// the defaults of the package oauth; an empty type is a token without typ.
	Algorithms []string `yaml:"algorithms"`
	Types      []string `yaml:"types"`
	// Audiences are accepted beside the URL of the resource.
	Audiences []string `yaml:"audiences"`
	// Scopes are what its tokens must have.
	Scopes Scopes `yaml:"scopes"`
	// User makes users of its tokens' claims.
	User User `yaml:"user"`
	// Groups are those of people, as its tokens name them.
	Groups IssuerGroups `yaml:"groups"`
}

// IssuerGroups says where an access token names a person's groups. Without a claim they are
// not read.
type IssuerGroups struct {
	Claim string `yaml:"claim"`
}

// entraHosts are those of Microsoft Entra's issuers, in its clouds.
var entraHosts = []string{"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "sts.windows.net"}

// isEntra reports whether an issuer is Microsoft Entra.
func isEntra(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && slices.Contains(entraHosts, u.Hostname())
}

// RefusesResource reports whether clients of MCP cannot get tokens of the issuer:
// they send the parameter resource (RFC 8707), which Microsoft Entra refuses.
func (i Issuer) RefusesResource() bool {
	return isEntra(i.Issuer)
}

// Scopes are what a token must have to read, and to call. None asks for none.
type Scopes struct {
	Read []string `yaml:"read"`
	Call []string `yaml:"call"`
}

// User is the rule that derives a user from a claim. Without a claim there is
// no rule.
type User struct {
	Claim string `yaml:"claim"`
	// Suffix is what the claim must end with and what is taken off.
	Suffix string `yaml:"suffix"`
}

// Server is the installation's own authorization server.
type Server struct {
	// Name is what its pages call the installation.
	Name string `yaml:"name"`
	// Store is where logins are kept: sqlite:PATH, or postgres: and a file
	// that holds the database's URL.
	Store string `yaml:"store"`
	// Providers are where people prove who they are. There is at least one.
	Providers []Provider `yaml:"providers"`
	// Clients are those that are known without registering.
	Clients []Client `yaml:"clients"`
	// Registration is how clients make themselves known.
	Registration Registration `yaml:"registration"`
	// Documents are about clients whose id is the URL of a document.
	Documents Documents `yaml:"clientIDMetadataDocuments"`
	// RedirectSchemes are private-use schemes to which an answer may go.
	RedirectSchemes []string `yaml:"redirectSchemes"`
	// AccountOrigins are the accounts of servers whose tokens are made at another origin
	// than the one at which people log in.
	AccountOrigins []AccountOrigins `yaml:"accountOrigins"`
	// Roles are those of people who administer the installation by a login.
	Roles      []Role     `yaml:"roles"`
	Lifetimes  Lifetimes  `yaml:"lifetimes"`
	Onboarding Onboarding `yaml:"onboarding"`
}

// The types of providers.
const (
	// OIDC has OpenID Connect's discovery.
	OIDC = "oidc"
	// GitHub has OAuth alone, and says who somebody is at an API of its own.
	GitHub = "github"
)

// Provider is an identity provider.
type Provider struct {
	// ID names it in URLs.
	ID string `yaml:"id"`
	// Name is what people read; the ID where the file has none.
	Name string `yaml:"name"`
	// Type is OIDC or GitHub.
	Type string `yaml:"type"`
	// Issuer is of OIDC alone.
	Issuer string `yaml:"issuer"`
	// URL and APIURL are of GitHub alone; those of github.com where the file has
	// none.
	URL    string `yaml:"url"`
	APIURL string `yaml:"apiURL"`
	// ClientID is what the provider calls this installation.
	ClientID string `yaml:"clientID"`
	// ClientSecretFile is the path of a file with the secret that goes with it.
	ClientSecretFile string `yaml:"clientSecretFile"`
	// ClientKeyFile is the path of a PEM of the private key that proves at an OIDC provider who
	// this installation is, and ClientKeyID what the provider calls its public half.
	ClientKeyFile string `yaml:"clientKeyFile"`
	ClientKeyID   string `yaml:"clientKeyID"`
	// TokenEndpointAuthMethod is how this installation proves to an OIDC provider who it is:
	// AuthBasic, AuthPost, AuthKey, or as its discovery document says where the file has none.
	TokenEndpointAuthMethod string `yaml:"tokenEndpointAuthMethod"`
	// Scopes are what is asked for. With OIDC they are openid and profile where
	// the file has none, and email where the rule for users reads that.
	Scopes []string `yaml:"scopes"`
	// SubjectClaim is the claim that a person of an OIDC provider is known by; sub where the
	// file has none. Microsoft Entra's sub is another one for each application.
	SubjectClaim string `yaml:"subjectClaim"`
	// AuthorizationParameters are added to the request by which a person logs in at an OIDC
	// provider, in place of the installation's own of the same name; an empty value leaves
	// that out.
	AuthorizationParameters map[string]string `yaml:"authorizationParameters"`
	// MaxAge is after how long a person logs in again; 0 for no other limit than Lifetimes.
	MaxAge time.Duration `yaml:"maxAge"`
	// User makes users of what the provider says.
	User User `yaml:"user"`
	// Groups are those of people, as an OIDC provider names them.
	Groups Groups `yaml:"groups"`
}

// How the client proves to a provider who it is (OpenID Connect Core 1.0, section 9).
const (
	AuthBasic = "client_secret_basic"
	AuthPost  = "client_secret_post"
	AuthKey   = "private_key_jwt"
)

// When a provider is asked who a person is.
const (
	// RecheckLogin is when they log in.
	RecheckLogin = "login"
	// RecheckRefresh is also when their program gets a new access token, if the provider
	// gave a refresh token.
	RecheckRefresh = "refresh"
)

// Groups says where a provider names a person's groups. Without a claim they are not read.
type Groups struct {
	Claim string `yaml:"claim"`
	// Recheck is RecheckLogin, or RecheckRefresh where the file has none.
	Recheck string `yaml:"recheck"`
	// RecheckGrace is how long a program gets access tokens after the provider said last
	// who the person is, while it does not say so at refreshes.
	RecheckGrace time.Duration `yaml:"recheckGrace"`
}

// Role gives the people in groups a role.
type Role struct {
	// Role is one of the package oauth's.
	Role   string      `yaml:"role"`
	Groups []RoleGroup `yaml:"groups"`
}

// RoleGroup is a group, as a provider names it at a login.
type RoleGroup struct {
	// Issuer is that of a provider with Groups.
	Issuer string `yaml:"issuer"`
	Value  string `yaml:"value"`
}

// Client is a public client.
type Client struct {
	ID           string   `yaml:"id"`
	Name         string   `yaml:"name"`
	RedirectURIs []string `yaml:"redirectURIs"`
}

// Registration is dynamic client registration, RFC 7591.
type Registration struct {
	Enabled bool `yaml:"enabled"`
	// MaxClients is how many registered clients there may be that no person has allowed
	// yet.
	MaxClients int `yaml:"maxClients"`
	// Lifetime is how long one is kept after it was used last.
	Lifetime time.Duration `yaml:"lifetime"`
}

// Documents are Client ID Metadata Documents.
type Documents struct {
	Enabled bool `yaml:"enabled"`
	// AllowedNetworks are ranges, in CIDR notation, from which documents may come
	// though they are not public.
	AllowedNetworks []string `yaml:"allowedNetworks"`
}

// Lifetimes are how long what the server gives out is good.
type Lifetimes struct {
	AccessToken time.Duration `yaml:"accessToken"`
	// RefreshToken is from the login on, however often it was used.
	RefreshToken time.Duration `yaml:"refreshToken"`
	// RefreshIdle is how long one may be unused.
	RefreshIdle time.Duration `yaml:"refreshIdle"`
}

// AccountOrigins are where people log in to an account, and where its tokens are
// made.
type AccountOrigins struct {
	Authorization string `yaml:"authorization"`
	Token         string `yaml:"token"`
}

// Trusted returns TrustedNamespaces with the one in which first logins make bridges.
func (s *Settings) Trusted() []string {
	trusted := slices.Clone(s.TrustedNamespaces)
	if s.Server != nil && s.Server.Onboarding.Mode == Auto {
		trusted = append(trusted, s.Server.Onboarding.Namespace)
	}
	return trusted
}

// IssuersNameGroups reports whether access tokens of others name groups.
func (s *Settings) IssuersNameGroups() bool {
	return slices.ContainsFunc(s.Issuers, func(i Issuer) bool { return i.Groups.Claim != "" })
}

// The modes of onboarding.
const (
	// Off lets in who is in a bridge already, or whose user the rule makes.
	Off = "off"
	// Invite binds who has an invitation to the bridge that it names.
	Invite = "invite"
	// Auto makes a bridge for everyone who has none.
	Auto = "auto"
)

// Onboarding is what happens at the first login of somebody without a bridge.
type Onboarding struct {
	// Mode is Off, Invite or Auto, which takes invitations too.
	Mode string `yaml:"mode"`
	// Namespace is that of the bridges that Auto makes. BridgeProfiles say what they
	// have.
	Namespace string `yaml:"namespace"`
}
