// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// everything says all that can be said.
const everything = `
publicURL: https://bridges.example.com
caFile: /etc/ca.crt
trustedNamespaces: [staff, team-a]
issuers:
- issuer: https://login.example.com
  jwksURL: https://login.example.com/keys
  algorithms: [RS256]
  types: [JWT, ""]
  audiences: ["api://bridges"]
  scopes: {read: ["bridges.read"], call: ["bridges.read", "bridges.call"]}
  user: {claim: preferred_username, suffix: "@example.com"}
  groups: {claim: roles}
server:
  name: Example bridges
  store: sqlite:/var/lib/hosted-bridge/login.db
  providers:
  - {id: google, name: Google, type: oidc, issuer: https://accounts.google.com, clientID: x, clientSecretFile: /etc/google, clientKeyFile: /etc/google.key, clientKeyID: "1", tokenEndpointAuthMethod: private_key_jwt, scopes: [openid], user: {claim: email, suffix: "@example.com"}, groups: {claim: groups, recheck: login}}
  - {id: github, name: GitHub, type: github, clientID: y, clientSecretFile: /etc/github, url: https://git.example.com, apiURL: https://git.example.com/api, scopes: ["read:user"]}
  clients: [{id: desk, name: Desk, redirectURIs: ["http://127.0.0.1/callback", "https://desk.example/a?b=c", "desk-app:/done"]}]
  registration: {enabled: false, maxClients: 10, lifetime: 24h}
  clientIDMetadataDocuments: {enabled: false, allowedNetworks: [10.0.0.0/8]}
  redirectSchemes: [desk-app]
  accountOrigins: [{authorization: "https://www.example.com", token: "https://api.example.com:8443"}]
  roles: [{role: curator, groups: [{issuer: https://accounts.google.com, value: catalog}]}]
  lifetimes: {accessToken: 5m, refreshToken: 48h, refreshIdle: 24h}
  onboarding: {mode: auto, namespace: people}
`

func TestParseTakesAllThatCanBeSaid(t *testing.T) {
	want := &Settings{
		PublicURL: "https://bridges.example.com",
		CAFile:    "/etc/ca.crt",

		TrustedNamespaces: []string{"staff", "team-a"},
		Issuers: []Issuer{{
			Issuer: "https://login.example.com", JWKSURL: "https://login.example.com/keys",
			Algorithms: []string{"RS256"}, Types: []string{"JWT", ""}, Audiences: []string{"api://bridges"},
			Scopes: Scopes{Read: []string{"bridges.read"}, Call: []string{"bridges.read", "bridges.call"}},
			User:   User{Claim: "preferred_username", Suffix: "@example.com"},
			Groups: IssuerGroups{Claim: "roles"},
		}},
		Server: &Server{
			Name: "Example bridges", Store: "sqlite:/var/lib/hosted-bridge/login.db",
			Providers: []Provider{
				{
					ID: "google", Name: "Google", Type: OIDC, Issuer: "https://accounts.google.com", ClientID: "x",
					ClientSecretFile: "/etc/google", ClientKeyFile: "/etc/google.key", ClientKeyID: "1", TokenEndpointAuthMethod: AuthKey, Scopes: []string{"openid"}, User: User{Claim: "email", Suffix: "@example.com"},
					Groups: Groups{Claim: "groups", Recheck: RecheckLogin},
				},
				{
					ID: "github", Name: "GitHub", Type: GitHub, URL: "https://git.example.com", APIURL: "https://git.example.com/api",
					ClientID: "y", ClientSecretFile: "/etc/github", Scopes: []string{"read:user"},
				},
			},
			Clients: []Client{{
				ID: "desk", Name: "Desk",
				RedirectURIs: []string{"http://127.0.0.1/callback", "https://desk.example/a?b=c", "desk-app:/done"},
			}},
			Registration:    Registration{MaxClients: 10, Lifetime: 24 * time.Hour},
			Documents:       Documents{AllowedNetworks: []string{"10.0.0.0/8"}},
			RedirectSchemes: []string{"desk-app"},
			AccountOrigins:  []AccountOrigins{{Authorization: "https://www.example.com", Token: "https://api.example.com:8443"}},
			Roles:           []Role{{Role: "curator", Groups: []RoleGroup{{Issuer: "https://accounts.google.com", Value: "catalog"}}}},
			Lifetimes:       Lifetimes{AccessToken: 5 * time.Minute, RefreshToken: 48 * time.Hour, RefreshIdle: 24 * time.Hour},
			Onboarding:      Onboarding{Mode: Auto, Namespace: "people"},
		},
	}
	got := must.Value(Parse([]byte(everything)))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestTheNamespaceOfOnboardingIsTrusted(t *testing.T) {
	for mode, want := range map[string][]string{Auto: {"staff", "people"}, Invite: {"staff"}, Off: {"staff"}} {
		s := Settings{TrustedNamespaces: []string{"staff"}, Server: &Server{Onboarding: Onboarding{Mode: mode, Namespace: "people"}}}
		if got := s.Trusted(); !cmp.Equal(want, got) {
			t.Errorf("mode %s: %q, want %q", mode, got, want)
		}
	}
	if got := (&Settings{}).Trusted(); len(got) != 0 {
		t.Errorf("without a word of it: %q", got)
	}
}

// server is the least of one, to which tests add.
const server = `
publicURL: http://localhost:8080
server:
  store: postgres:/etc/url
  providers: [{id: idp, type: oidc, issuer: https://idp.example, clientID: x, clientSecretFile: f}]
`

func TestParseFillsInDefaults(t *testing.T) {
	want := defaultServer()
	want.Store = "postgres:/etc/url"
	want.Providers = []Provider{{
		ID: "idp", Name: "idp", Type: OIDC, Issuer: "https://idp.example", ClientID: "x", ClientSecretFile: "f",
		Scopes: []string{"openid", "profile"},
	}}
	got := must.Value(Parse([]byte(server)))(t)
	if diff := cmp.Diff(&Settings{PublicURL: "http://localhost:8080", Server: &want}, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestParseFillsInProviders(t *testing.T) {
	const before = "publicURL: http://localhost\nserver:\n  store: postgres:f\n  providers: [{id: a, clientID: x, clientSecretFile: f, "
	tests := map[string]struct {
		in          string
		url, apiURL string
		scopes      []string
		groups      Groups
	}{
		"a rule that reads addresses asks for them": {
			in:     `type: oidc, issuer: "https://a.example", user: {claim: email, suffix: "@a.example"}`,
			scopes: []string{"openid", "profile", "email"},
		},
		"groups are read again at refreshes": {
			in:     `type: oidc, issuer: "https://a.example", groups: {claim: groups}`,
			scopes: []string{"openid", "profile"}, groups: Groups{"groups", RecheckRefresh, time.Hour},
		},
		"GitHub is that of everyone":         {in: `type: github`, url: "https://github.com", apiURL: "https://api.github.com"},
		"an enterprise's GitHub has its API": {in: `type: github, url: "https://git.example/"`, url: "https://git.example/", apiURL: "https://git.example/api/v3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := must.Value(Parse([]byte(before + tt.in + "}]")))(t)
			got := s.Server.Providers[0]
			if got.URL != tt.url || got.APIURL != tt.apiURL || !cmp.Equal(got.Scopes, tt.scopes) || got.Groups != tt.groups {
				t.Errorf("the provider is %+v", got)
			}
		})
	}
}

// Entra refuses people with prompt=consent who may not consent for themselves.
func TestNobodyIsAskedForConsentAtEntraUnlessAnAdministratorSaysSo(t *testing.T) {
	for in, want := range map[string]map[string]string{
		`issuer: "https://login.microsoftonline.com/8f1c/v2.0"`:                                               {"prompt": ""},
		`issuer: "https://login.microsoftonline.com/8f1c/v2.0", authorizationParameters: {domain_hint: a}`:    {"domain_hint": "a", "prompt": ""},
		`issuer: "https://login.microsoftonline.com/8f1c/v2.0", authorizationParameters: {prompt: "consent"}`: {"prompt": "consent"},
		`issuer: "https://example.okta.com"`:                                                                  nil,
	} {
		s := must.Value(Parse([]byte(strings.Replace(server, "issuer: https://idp.example", in, 1))))(t)
		if diff := cmp.Diff(want, s.Server.Providers[0].AuthorizationParameters); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestParseTakesNoServer(t *testing.T) {
	for _, in := range []string{"", "server: null", "server:"} {
		s := must.Value(Parse([]byte("publicURL: https://a.example:8443\nissuers: [{issuer: 'https://b.example/c/'}]\n" + in)))(t)
		if s.Server != nil {
			t.Errorf("%q makes a server", in)
		}
	}
}

func TestMicrosoftEntraRefusesWhatClientsSend(t *testing.T) {
	for issuer, want := range map[string]bool{
		"https://login.microsoftonline.com/8f1c/v2.0": true, "https://sts.windows.net/8f1c/": true, "https://login.microsoftonline.us/8f1c/v2.0": true,
		"https://login.example.com/login.microsoftonline.com": false, "https://accounts.google.com": false, "": false,
	} {
		if got := (Issuer{Issuer: issuer}).RefusesResource(); got != want {
			t.Errorf("%q: %t", issuer, got)
		}
	}
}
