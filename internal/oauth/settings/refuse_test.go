// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
)

func TestParseRefusesFiles(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"nothing":                         {"", "the file is empty"},
		"what is no YAML":                 {"{", "parse login settings: yaml"},
		"a list":                          {"[]", "must be a mapping"},
		"two documents":                   {server + "---\n" + server, "second document"},
		"a field given twice":             {server + "publicURL: https://b.example\n", "already defined"},
		"a field that is misspelt":        {server + "isuers: []\n", `line 6: "isuers" is no field; there are publicURL, caFile, issuers, trustedNamespaces, server`},
		"a field within that is misspelt": {server + "  lifetimes: {access: 1m}\n", `"server.lifetimes.access" is no field; there are accessToken, refreshToken, refreshIdle`},
		"a field of an item":              {"publicURL: https://a.example\nissuers: [{issuer: 'https://b.example', keys: x}]", `"issuers[0].keys" is no field`},
		"a secret in place of its file":   {strings.Replace(server, "clientSecretFile: f", "clientSecret: sesame", 1), `"server.providers[0].clientSecret" is no field`},
		"a lifetime without a unit":       {server + "  lifetimes: {accessToken: 15}\n", "line 6: cannot unmarshal"},
		"nobody":                          {"publicURL: https://a.example", "issuers and server are both missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { refuses(t, tt.in, tt.want) })
	}
}

func refuses(t *testing.T, in, want string) {
	t.Helper()
	_, err := Parse([]byte(in))
	if err == nil {
		t.Fatal("it is taken")
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %q and has no %q", err, want)
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Error("the error has the secret in it")
	}
}

func TestParseRefusesValues(t *testing.T) {
	issuer := func(more string) string {
		return "publicURL: https://a.example\nissuers: [{issuer: 'https://b.example', " + more + "}]"
	}
	tests := map[string]struct{ in, want string }{
		"a public URL with a path":         {strings.Replace(server, "http://localhost:8080", "https://a.example/x", 1), "publicURL must be an origin"},
		"a public URL with a slash":        {strings.Replace(server, "http://localhost:8080", "https://a.example/", 1), "publicURL must be an origin"},
		"a public URL that others read":    {strings.Replace(server, "http://localhost:8080", "http://a.example", 1), "publicURL must be an origin"},
		"a public URL in capitals":         {strings.Replace(server, "http://localhost:8080", "https://A.example", 1), "publicURL must be an origin"},
		"a public URL with the usual port": {strings.Replace(server, "http://localhost:8080", "https://a.example:443", 1), "publicURL must be an origin"},
		"certificates in place of a file":  {"publicURL: https://a.example\ncaFile: \"a\\nb\"", "caFile must be the path"},
		"an issuer that others can change": {"publicURL: https://a.example\nissuers: [{issuer: 'http://b.example'}]", "issuers[0].issuer must be an https URL"},
		"an issuer with a password":        {"publicURL: https://a.example\nissuers: [{issuer: 'https://u:sesame@b.example'}]", "issuers[0].issuer must be an https URL"},
		"an issuer with an empty query":    {"publicURL: https://a.example\nissuers: [{issuer: 'https://b.example?'}]", "issuers[0].issuer must be an https URL"},
		"an issuer of nothing":             {"publicURL: https://a.example\nissuers: [{}]", "issuers[0].issuer must be an https URL"},
		"an issuer twice":                  {"publicURL: https://a.example\nissuers: [{issuer: 'https://b.example'}, {issuer: 'https://b.example'}]", "issuers[1].issuer is that of another"},
		"the own server as another's":      {server + "issuers: [{issuer: 'http://localhost:8080'}]", "issuers[0].issuer is publicURL"},
		"keys that others can change":      {issuer("jwksURL: 'http://b.example/keys'"), "issuers[0].jwksURL must be an https URL"},
		"a shared key":                     {issuer("algorithms: [HS256]"), "issuers[0].algorithms must be a list of [RS256"},
		"no algorithm":                     {issuer("algorithms: [none]"), "issuers[0].algorithms"},
		"an empty audience":                {issuer(`audiences: [""]`), "issuers[0].audiences"},
		"two scopes in one":                {issuer(`scopes: {read: ["a b"]}`), "issuers[0].scopes.read"},
		"a suffix of nothing":              {issuer("user: {suffix: '@a.example'}"), "issuers[0].user.suffix needs issuers[0].user.claim"},
		"addresses as user ids":            {issuer("user: {claim: email}"), "issuers[0].user.suffix must be the @ of the addresses"},
		"a suffix that others can have":    {issuer("user: {claim: email, suffix: a.example}"), "issuers[0].user.suffix must be the @ of the addresses"},
		"a type that cannot be in a token": {issuer(`types: ["a\tb"]`), "issuers[0].types"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { refuses(t, tt.in, tt.want) })
	}
}

func TestParseRefusesServers(t *testing.T) {
	provider := func(fields string) string {
		return "publicURL: https://a.example\nserver: {store: 'postgres:f', providers: [{clientID: x, clientSecretFile: f, " + fields + "}]}"
	}
	oidc := func(fields string) string {
		return provider("id: a, type: oidc, issuer: 'https://i.example', " + fields)
	}
	client := func(uri string) string {
		return server + "  clients: [{id: c, name: C, redirectURIs: ['" + uri + "']}]"
	}
	tests := map[string]struct{ in, want string }{
		"no store":                            {strings.Replace(server, "store: postgres:/etc/url", "name: a", 1), "server.store must be sqlite:PATH"},
		"a store that is none":                {strings.Replace(server, "postgres:/etc", "mysql:/etc", 1), "server.store must be sqlite:PATH"},
		"a database's URL as its file":        {strings.Replace(server, "postgres:/etc", "postgres://u:sesame@h", 1), "server.store must be sqlite:PATH"},
		"a Redis, which is no longer one":     {strings.Replace(server, "postgres:/etc", "redis:/etc", 1), "server.store is redis, where logins are no longer kept: set it to postgres:FILE"},
		"nobody to log in at":                 {"publicURL: https://a.example\nserver: {store: 'postgres:f'}", "server.providers must be a list of at least one"},
		"a name with a line's end":            {server + `  name: "a\nb"`, "server.name must be"},
		"a provider that cannot be in a path": {provider("id: A/B, type: github"), "server.providers[0].id must be"},
		"a provider of no type":               {provider("id: a"), "server.providers[0].type must be oidc or github"},
		"a provider without a secret":         {strings.Replace(server, "clientSecretFile: f", "name: A", 1), "server.providers[0].clientSecretFile must be"},
		"an OIDC provider without an issuer":  {provider("id: a, type: oidc"), "server.providers[0].issuer must be an https URL"},
		"an OIDC provider by its URL":         {provider("id: a, type: oidc, issuer: 'https://i.example', url: 'https://i.example'"), "server.providers[0].url is of the type github"},
		"an OIDC provider without openid":     {provider("id: a, type: oidc, issuer: 'https://i.example', scopes: [profile]"), "server.providers[0].scopes must be a list with openid"},
		"GitHub by an issuer":                 {provider("id: a, type: github, issuer: 'https://i.example'"), "server.providers[0].issuer is of the type oidc"},
		"addresses of GitHub":                 {provider("id: a, type: github, user: {claim: email, suffix: '@a.example'}"), "server.providers[0].user.claim is email"},
		"subjects of GitHub":                  {provider("id: a, type: github, subjectClaim: oid"), "server.providers[0].subjectClaim is of the type oidc"},
		"groups of GitHub":                    {provider("id: a, type: github, groups: {claim: groups}"), "server.providers[0].groups.claim is of the type oidc"},
		"groups that are read never":          {provider("id: a, type: oidc, issuer: 'https://i.example', groups: {claim: groups, recheck: never}"), "server.providers[0].groups.recheck must be login or refresh"},
		"groups that are never due":           {provider("id: a, type: oidc, issuer: 'https://i.example', groups: {claim: groups, recheckGrace: 1000h}"), "server.providers[0].groups.recheckGrace must be from 5m0s to 168h0m0s"},
		"a grace without a recheck":           {provider("id: a, type: oidc, issuer: 'https://i.example', groups: {claim: groups, recheck: login, recheckGrace: 2h}"), "server.providers[0].groups.recheckGrace needs server.providers[0].groups.recheck: refresh"},
		"a parameter that binds a login":      {provider("id: a, type: oidc, issuer: 'https://i.example', authorizationParameters: {state: x}"), "server.providers[0].authorizationParameters must be parameters such as access_type"},
		"a parameter with a line's end":       {provider(`id: a, type: oidc, issuer: 'https://i.example', authorizationParameters: {prompt: "a\nb"}`), "server.providers[0].authorizationParameters.prompt must be"},
		"a way to prove who the client is":    {oidc("tokenEndpointAuthMethod: tls_client_auth"), "server.providers[0].tokenEndpointAuthMethod must be client_secret_basic, client_secret_post or private_key_jwt"},
		"a method without its key":            {oidc("tokenEndpointAuthMethod: private_key_jwt"), "server.providers[0].tokenEndpointAuthMethod is private_key_jwt, which needs server.providers[0].clientKeyFile"},
		"a method without its secret":         {strings.Replace(oidc("clientKeyFile: k, tokenEndpointAuthMethod: client_secret_post"), "clientSecretFile: f, ", "", 1), "is client_secret_post, which needs server.providers[0].clientSecretFile"},
		"a key and a secret without a method": {oidc("clientKeyFile: k"), "and one of them where the client has a secret and a key"},
		"the name of no key":                  {oidc("clientKeyID: k"), "server.providers[0].clientKeyID needs server.providers[0].clientKeyFile"},
		"a key of GitHub":                     {strings.Replace(provider("id: a, type: github, clientKeyFile: k"), "clientSecretFile: f, ", "", 1), "server.providers[0].clientSecretFile must be"},
		"a key of GitHub beside a secret":     {provider("id: a, type: github, clientKeyFile: k"), "server.providers[0].clientKeyFile is of the type oidc"},
		"an answer behind a fragment":         {provider("id: a, type: oidc, issuer: 'https://i.example', authorizationParameters: {response_mode: fragment}"), "server.providers[0].authorizationParameters.response_mode must be query or form_post"},
		"parameters of GitHub":                {provider("id: a, type: github, authorizationParameters: {prompt: consent}"), "server.providers[0].authorizationParameters is of the type oidc"},
		"logins that end at once":             {provider("id: a, type: github, maxAge: 1s"), "server.providers[0].maxAge must be from 1m0s"},
		"groups of no claim":                  {provider("id: a, type: oidc, issuer: 'https://i.example', groups: {recheck: login}"), "server.providers[0].groups.recheck needs server.providers[0].groups.claim"},
		"a provider twice":                    {strings.Replace(server, "]", ", {id: idp, type: github, clientID: x, clientSecretFile: f}]", 1), "server.providers[1].id is that of another"},
		"a client that is a document":         {server + "  clients: [{id: 'https://c.example/c', name: C, redirectURIs: ['https://c.example']}]", "server.clients[0].id must be"},
		"a client twice":                      {server + "  clients: [&c {id: c, name: C, redirectURIs: ['https://c.example']}, *c]", "server.clients[1].id is that of another"},
		"a client that cannot be answered":    {server + "  clients: [{id: c, name: C}]", "server.clients[0].redirectURIs must be"},
		"an answer that others read":          {client("http://c.example/"), "server.clients[0].redirectURIs must be"},
		"an answer with a fragment":           {client("https://c.example/#a"), "server.clients[0].redirectURIs must be"},
		"an answer to a scheme not listed":    {client("desk:/a"), "server.clients[0].redirectURIs must be"},
		"an answer that is a program":         {server + "  redirectSchemes: [javascript]", "server.redirectSchemes must be"},
		"an account's page for its origin":    {server + "  accountOrigins: [{authorization: 'https://a.example/authorize', token: 'https://b.example'}]", "server.accountOrigins[0].authorization must be an origin"},
		"an account without tokens":           {server + "  accountOrigins: [{authorization: 'https://a.example'}]", "server.accountOrigins[0].token must be an origin"},
		"a pattern of namespaces":             {server + "trustedNamespaces: ['*']", "trustedNamespaces must be a list of namespaces"},
		"a scheme with its colon":             {server + "  redirectSchemes: ['cursor:']", "server.redirectSchemes must be"},
		"documents from an address":           {server + "  clientIDMetadataDocuments: {allowedNetworks: [10.0.0.1]}", "allowedNetworks must be a list of ranges"},
		"documents from a range with more":    {server + "  clientIDMetadataDocuments: {allowedNetworks: [10.0.0.1/8]}", "allowedNetworks must be a list of ranges"},
		"no registered client":                {server + "  registration: {maxClients: 0}", "server.registration.maxClients must be from 1"},
		"clients that are forgotten at once":  {server + "  registration: {lifetime: 1s}", "server.registration.lifetime must be from 1h0m0s"},
		"a role that is none":                 {server + "  roles: [{role: root, groups: [{issuer: 'https://idp.example', value: a}]}]", "server.roles[0].role must be one of [admin auditor curator]"},
		"a role of nobody":                    {server + "  roles: [{role: admin}]", "server.roles[0].groups must be"},
		"a role of a provider without groups": {server + "  roles: [{role: admin, groups: [{issuer: 'https://idp.example', value: a}]}]", "server.roles[0].groups[0].issuer must be that of a provider"},
		"tokens that stay":                    {server + "  lifetimes: {accessToken: 2h}", "server.lifetimes.accessToken must be from 1m0s to 1h0m0s"},
		"a longer rest than life":             {server + "  lifetimes: {refreshToken: 24h}", "server.lifetimes.refreshIdle must be from 15m0s to 24h0m0s"},
		"a mode that is none":                 {server + "  onboarding: {mode: always}", "server.onboarding.mode must be off, invite or auto"},
		"bridges that are nowhere":            {server + "  onboarding: {mode: auto}", "server.onboarding.namespace must be"},
		"what bridges have":                   {server + "  onboarding: {mode: auto, namespace: people, tier: pro}", `"server.onboarding.tier" is no field; there are mode, namespace`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { refuses(t, tt.in, tt.want) })
	}
}

func TestParseSaysAllThatIsWrong(t *testing.T) {
	const in = "publicURL: a\nissuers: [{issuer: b}]\nserver: {stoer: x}\n"
	for _, want := range []string{"publicURL must", "issuers[0].issuer must", `"server.stoer" is no field`, "server.store must", "server.providers must"} {
		refuses(t, in, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add(server)
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Parse([]byte(in))
		if (s == nil) != (err != nil) {
			t.Errorf("settings %v with the error %v", s, err)
		}
	})
}
