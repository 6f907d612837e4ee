// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// loginScenario is a line of the suite's listing that names a scenario in which a
// client logs in.
var loginScenario = regexp.MustCompile(`(?m)^\s+- (auth/\S+)`)

// TestClientsFindWhatTheyExpect holds the installation to what the clients rely on
// that pass the conformance suite's scenarios of logins. In those the suite is the
// server, and looks at what a client does with a challenge and with metadata; here
// the server is ours, and a row says what the client of a scenario needs of it. A
// scenario that comes with a newer suite needs a row.
func TestClientsFindWhatTheyExpect(t *testing.T) {
	listed := listedScenarios(t)
	for name := range listed {
		if expectations[name] == nil {
			t.Errorf("nothing says what %s expects of a server", name)
		}
	}
	identityHosts = startIdentityProvider(t)
	m := meet(t)
	for _, name := range slices.Sorted(maps.Keys(expectations)) {
		t.Run(strings.TrimPrefix(name, "auth/"), func(t *testing.T) {
			if !listed[name] {
				t.Error("the suite has no such scenario")
			}
			expectations[name](t, m)
		})
	}
}

// listedScenarios returns the names of the suite's scenarios, in both of its lines.
func listedScenarios(t *testing.T) map[string]bool {
	t.Helper()
	listed := map[string]bool{}
	for _, line := range []string{suite, suite01} {
		out, err := exec.CommandContext(t.Context(), nodeProgram(t), module(t, line), "list", "--client").Output()
		names := loginScenario.FindAllSubmatch(out, -1)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s lists %d scenarios of logins (%v)", line, len(names), err)
		}
		for _, name := range names {
			listed[string(name[1])] = true
		}
	}
	return listed
}

// expectations are what the clients of each scenario need of a server. What an
// extension is about, the metadata must not promise.
var expectations = map[string]func(*testing.T, *met){
	"auth/metadata-default":                     whereTheChallengeSays,
	"auth/metadata-var1":                        whereAClientLooksFirst,
	"auth/metadata-var2":                        nothingAtTheRoot,
	"auth/metadata-var3":                        whereTheChallengeSays,
	"auth/basic-cimd":                           documentsAreTaken,
	"auth/scope-from-www-authenticate":          challengesNameScopes,
	"auth/scope-from-scopes-supported":          metadataNamesTheSameScopes,
	"auth/scope-omitted-when-undefined":         scopesMayBeLeftOut,
	"auth/scope-step-up":                        challengesNameAllScopes,
	"auth/scope-retry-limit":                    oneMoreLoginIsEnough,
	"auth/token-endpoint-auth-basic":            registeredClientsHaveNoSecret,
	"auth/token-endpoint-auth-post":             registeredClientsHaveNoSecret,
	"auth/token-endpoint-auth-none":             registeredClientsHaveNoSecret,
	"auth/pre-registration":                     knownClientsNeedNoRegistration,
	"auth/2025-03-26-oauth-metadata-backcompat": originHasTheServersMetadata,
	"auth/2025-03-26-oauth-endpoint-fallback":   nothingIsGuessed,
	"auth/resource-mismatch":                    resourceIsTheURL,
	"auth/offline-access-scope":                 refreshTokensComeUnasked,
	"auth/offline-access-not-supported":         refreshTokensComeUnasked,
	"auth/authorization-server-migration":       anotherServersTokenLeadsHere,
	"auth/iss-supported":                        answersNameTheIssuer,
	"auth/iss-not-advertised":                   answersNameTheIssuer,
	"auth/iss-supported-missing":                refusalsNameTheIssuer,
	"auth/iss-wrong-issuer":                     answersNameTheIssuer,
	"auth/iss-unexpected":                       answersNameTheIssuer,
	"auth/iss-normalized":                       answersNameTheIssuer,
	"auth/metadata-issuer-mismatch":             issuerIsWhereItIsFound,
	"auth/client-credentials-jwt":               grantsNeedAPerson,
	"auth/client-credentials-basic":             grantsNeedAPerson,
	"auth/enterprise-managed-authorization":     grantsNeedAPerson,
	"auth/cross-app-access-complete-flow":       grantsNeedAPerson,
	"auth/wif-jwt-bearer":                       grantsNeedAPerson,
	"auth/dpop":                                 tokensAreBearers,
	"auth/dpop-nonce":                           tokensAreBearers,
}

// resourceMetadata is what RFC 9728 has a server say of a URL.
type resourceMetadata struct {
	Resource  string
	Servers   []string `json:"authorization_servers"`
	Scopes    []string `json:"scopes_supported"`
	Methods   []string `json:"bearer_methods_supported"`
	NeedsDPoP bool     `json:"dpop_bound_access_tokens_required"`
}

// serverMetadata is what RFC 8414 has an authorization server say of itself.
type serverMetadata struct {
	Issuer          string
	Authorize       string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Register        string   `json:"registration_endpoint"`
	Scopes          []string `json:"scopes_supported"`
	ResponseTypes   []string `json:"response_types_supported"`
	Grants          []string `json:"grant_types_supported"`
	TokenAuth       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	NamesItself     bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments bool     `json:"client_id_metadata_document_supported"`
	DPoP            []string `json:"dpop_signing_alg_values_supported"`
}

// met is what a client finds that knows a URL alone.
type met struct {
	tenant    tenant
	challenge map[string]string
	resource  resourceMetadata
	server    serverMetadata
	person    *person
}

// metPerson is who logs in, by their name at the provider.
const metPerson = "edda"

// meet goes from a URL to all that is said about where to log in for it.
func meet(t *testing.T) *met {
	t.Helper()
	m := &met{tenant: newLoginTenant(t, "expected", metPerson), person: newVisitor(t)}
	m.challenge = challengeOf(t, mustSend(t, m.tenant.url(), "", modernFirst), http.StatusUnauthorized)
	found(t, m.challenge["resource_metadata"], &m.resource)
	if len(m.resource.Servers) != 1 {
		t.Fatalf("the metadata names %d authorization servers", len(m.resource.Servers))
	}
	found(t, m.resource.Servers[0]+"/.well-known/oauth-authorization-server", &m.server)
	return m
}

// challengeParameter is one of a challenge, of those that clients read.
var challengeParameter = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// challengeOf returns the parameters of the one challenge that an answer has.
func challengeOf(t *testing.T, a answer, status int) map[string]string {
	t.Helper()
	lines := a.header.Values("WWW-Authenticate")
	if a.status != status || len(lines) != 1 || !strings.HasPrefix(lines[0], "Bearer ") {
		t.Fatalf("status %d with challenges %q, want %d and one for a bearer", a.status, lines, status)
	}
	parameters := map[string]string{}
	for _, p := range challengeParameter.FindAllStringSubmatch(lines[0], -1) {
		parameters[p[1]] = p[2]
	}
	return parameters
}

// found reads metadata, as a program in a browser could.
func found(t *testing.T, address string, metadata any) answer {
	t.Helper()
	a := get(t, address)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" || a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%s: status %d, %q, for origins %q", address, a.status, a.header.Get("Content-Type"), a.header.Get("Access-Control-Allow-Origin"))
	}
	a.into(t, metadata)
	return a
}

func get(t *testing.T, address string) answer {
	t.Helper()
	return mustSend(t, address, "", request{method: http.MethodGet})
}

// same fails the test where something is not what a client expects.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// wordsAre fails the test where a list has other words than a client expects.
func wordsAre(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	same(t, what, fmt.Sprint(slices.Sorted(slices.Values(got))), fmt.Sprint(slices.Sorted(slices.Values(want))))
}

// wellKnown is where a client looks for the metadata of a URL (RFC 9728, section
// 3.1), before it looks at the root.
func wellKnown(t *testing.T, resource string) string {
	t.Helper()
	u := must.Value(url.Parse(resource))(t)
	u.Path = "/.well-known/oauth-protected-resource" + u.Path
	return u.String()
}

// urls are all for which somebody may log in.
func (m *met) urls() []string {
	return []string{m.tenant.url(), m.tenant.base() + "/sse", installed.url + "/mcp"}
}

// whereTheChallengeSays follows each URL's challenge, which is all that a client
// has where the place is one that it would not guess.
func whereTheChallengeSays(t *testing.T, m *met) {
	for _, resource := range m.urls() {
		challenge := challengeOf(t, mustSend(t, resource, "", modernFirst), http.StatusUnauthorized)
		var metadata resourceMetadata
		found(t, challenge["resource_metadata"], &metadata)
		same(t, "the resource", metadata.Resource, resource)
		wordsAre(t, "the list of servers of "+resource, metadata.Servers, installed.url)
		wordsAre(t, "how a token is sent to "+resource, metadata.Methods, "header")
	}
	wordsAre(t, "what an authorization is answered with", m.server.ResponseTypes, "code")
	wordsAre(t, "the list of PKCE's methods", m.server.Challenges, "S256")
	for _, endpoint := range []string{m.server.Authorize, m.server.Token, m.server.Register} {
		if !strings.HasPrefix(endpoint, m.server.Issuer+"/") {
			t.Errorf("the endpoint %q is elsewhere than the server", endpoint)
		}
	}
}

// whereAClientLooksFirst has a client find all of it without a challenge, which is
// lost where a proxy leaves it out. Of the two documents about a server some clients
// look for OpenID's alone, which must not be another.
func whereAClientLooksFirst(t *testing.T, m *met) {
	for _, resource := range m.urls() {
		var metadata resourceMetadata
		found(t, wellKnown(t, resource), &metadata)
		same(t, "the resource", metadata.Resource, resource)
	}
	oauth, openID := get(t, m.server.Issuer+"/.well-known/oauth-authorization-server"), get(t, m.server.Issuer+"/.well-known/openid-configuration")
	same(t, "OpenID's document", string(openID.body), string(oauth.body))
}

// nothingAtTheRoot keeps a client from metadata that is for another URL. The
// server has no path, so that there is one place for its own.
func nothingAtTheRoot(t *testing.T, m *met) {
	same(t, "the status at the root", get(t, installed.url+"/.well-known/oauth-protected-resource").status, http.StatusNotFound)
	u, err := url.Parse(m.server.Issuer)
	if err != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		t.Errorf("the issuer %q is more than an origin (%v)", m.server.Issuer, err)
	}
}

// documentsAreTaken has a client be known by a document, as it is by registering.
func documentsAreTaken(t *testing.T, m *met) {
	same(t, "that documents are taken", m.server.ClientDocuments, true)
	if answer := m.lets(t, askAs(desktop.ClientID, m.tenant.url())); answer.Get("code") == "" {
		t.Errorf("a client with a document has error %q", answer.Get("error"))
	}
}

// challengesNameScopes has a client ask for the scopes of the challenge, all of
// which the server must know.
func challengesNameScopes(t *testing.T, m *met) {
	same(t, "the challenge's scope", m.challenge["scope"], scopes)
	wordsAre(t, "the list of the server's scopes", m.server.Scopes, strings.Fields(scopes)...)
}

// metadataNamesTheSameScopes has a client that did not see the challenge ask for
// the same.
func metadataNamesTheSameScopes(t *testing.T, m *met) {
	wordsAre(t, "the list of the URL's scopes", m.resource.Scopes, strings.Fields(m.challenge["scope"])...)
}

// scopesMayBeLeftOut has a client ask for none, which is not less than all.
func scopesMayBeLeftOut(t *testing.T, m *met) {
	a := askAs(desk, m.tenant.url())
	a.scope = ""
	got := askTokens(t, a.redeem(m.lets(t, a).Get("code")))
	same(t, "the scope", got.Scope, scopes)
}

// tooLittle returns the challenge to a client that may only read and calls.
func (m *met) tooLittle(t *testing.T) map[string]string {
	t.Helper()
	a := askAs(desk, m.tenant.url())
	a.scope = "mcp:read"
	got := askTokens(t, a.redeem(m.lets(t, a).Get("code")))
	return challengeOf(t, mustSend(t, m.tenant.url(), got.Access, modernCall), http.StatusForbidden)
}

// challengesNameAllScopes has a client that has too little be told what to ask
// for: also what it has, since some clients ask for that alone which they are told.
func challengesNameAllScopes(t *testing.T, m *met) {
	challenge := m.tooLittle(t)
	same(t, "the error", challenge["error"], "insufficient_scope")
	same(t, "the metadata's place", challenge["resource_metadata"], m.challenge["resource_metadata"])
	same(t, "the scope", challenge["scope"], scopes)
}

// oneMoreLoginIsEnough has a client that asks for what it is told not be told again.
func oneMoreLoginIsEnough(t *testing.T, m *met) {
	a := askAs(desk, m.tenant.url())
	a.scope = m.tooLittle(t)["scope"]
	got := askTokens(t, a.redeem(m.lets(t, a).Get("code")))
	if err := mustSend(t, m.tenant.url(), got.Access, modernCall).toolAnswered(); err != nil {
		t.Error(err)
	}
}

// registeredClientsHaveNoSecret has a client authenticate as it is told to, which
// is not at all, also if it would have done so by a secret.
func registeredClientsHaveNoSecret(t *testing.T, m *met) {
	wordsAre(t, "the list of ways to authenticate", m.server.TokenAuth, "none")
	for _, wanted := range []string{"none", "client_secret_basic", "client_secret_post"} {
		a := mustSend(t, m.server.Register, "", request{
			method: http.MethodPost, header: map[string]string{"Content-Type": "application/json"},
			body: `{"redirect_uris":["` + deskRedirect + `"],"token_endpoint_auth_method":"` + wanted + `"}`,
		})
		var registered struct {
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
			Method string `json:"token_endpoint_auth_method"`
		}
		a.into(t, &registered)
		same(t, "the status of a registration", a.status, http.StatusCreated)
		same(t, "how a client authenticates that wants "+wanted, registered.Method, "none")
		same(t, "that there is a secret", registered.Secret != "", false)
		same(t, "that there is an id", registered.ID != "", true)
	}
}

// knownClientsNeedNoRegistration has a client of the values log in. It has no
// secret either.
func knownClientsNeedNoRegistration(t *testing.T, m *met) {
	wordsAre(t, "the list of ways to authenticate", m.server.TokenAuth, "none")
	a := askAs(desk, m.tenant.url())
	got := askTokens(t, a.redeem(m.lets(t, a).Get("code")))
	same(t, "the status of the token endpoint", got.status, http.StatusOK)
}

// originHasTheServersMetadata has a client find the server that knows nothing of
// metadata about URLs: at the origin of the URL.
func originHasTheServersMetadata(t *testing.T, m *met) {
	for _, resource := range m.urls() {
		u := must.Value(url.Parse(resource))(t)
		var server serverMetadata
		found(t, u.Scheme+"://"+u.Host+"/.well-known/oauth-authorization-server", &server)
		same(t, "the issuer", server.Issuer, m.server.Issuer)
		same(t, "that a client can register", server.Register != "", true)
	}
}

// nothingIsGuessed has nothing be where a client without metadata would look.
func nothingIsGuessed(t *testing.T, m *met) {
	for _, path := range []string{"/authorize", "/token", "/register"} {
		same(t, "the status of "+path, get(t, installed.url+path).status, http.StatusNotFound)
	}
	// There is metadata: such a client does not look there.
	originHasTheServersMetadata(t, m)
}

// resourceIsTheURL has a client compare the URL that it was given with the
// metadata's, byte for byte, whichever of both ways it went there.
func resourceIsTheURL(t *testing.T, m *met) {
	for _, resource := range m.urls() {
		challenge := challengeOf(t, mustSend(t, resource, "", modernFirst), http.StatusUnauthorized)
		for _, place := range []string{challenge["resource_metadata"], wellKnown(t, resource)} {
			var metadata resourceMetadata
			found(t, place, &metadata)
			same(t, "the resource of "+place, metadata.Resource, resource)
		}
	}
}

// refreshTokensComeUnasked has a client get a refresh token that asks for what the
// metadata names, and that asks for one by a scope of OpenID.
func refreshTokensComeUnasked(t *testing.T, m *met) {
	const offline = "offline_access"
	for what, names := range map[string][]string{
		"the server": m.server.Scopes, "the URL": m.resource.Scopes, "the challenge": strings.Fields(m.challenge["scope"]),
	} {
		same(t, "that "+what+" names "+offline, slices.Contains(names, offline), false)
	}
	same(t, "that there are refresh tokens", slices.Contains(m.server.Grants, "refresh_token"), true)
	for _, scope := range []string{m.challenge["scope"], m.challenge["scope"] + " " + offline} {
		a := askAs(desk, m.tenant.url())
		a.scope = scope
		got := askTokens(t, a.redeem(m.lets(t, a).Get("code")))
		same(t, "that there is a refresh token", got.Refresh != "", true)
		same(t, "the scope", got.Scope, scopes)
	}
}

// anotherServersTokenLeadsHere has a client whose token is of a server that is not
// the installation's any more find the one that is, and register there: a new
// place is known in minutes.
func anotherServersTokenLeadsHere(t *testing.T, m *met) {
	// {"typ":"at+jwt","alg":"ES256"} and {"iss":"https://elsewhere.example.com"}
	former := "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2Vsc2V3aGVyZS5leGFtcGxlLmNvbSJ9." + strings.Repeat("A", 86)
	challenge := challengeOf(t, mustSend(t, m.tenant.url(), former, modernFirst), http.StatusUnauthorized)
	same(t, "the error", challenge["error"], "invalid_token")
	same(t, "the metadata's place", challenge["resource_metadata"], m.challenge["resource_metadata"])
	var metadata resourceMetadata
	same(t, "how long metadata is kept", found(t, challenge["resource_metadata"], &metadata).header.Get("Cache-Control"), "max-age=300")
	same(t, "that a client can register", m.server.Register != "", true)
}

// answersNameTheIssuer has a client compare who answers with whom it asked, byte
// for byte. The metadata says that it can.
func answersNameTheIssuer(t *testing.T, m *met) {
	same(t, "that answers name the issuer", m.server.NamesItself, true)
	same(t, "that the issuer ends in a slash", strings.HasSuffix(m.server.Issuer, "/"), false)
	wordsAre(t, "who answers", m.lets(t, askAs(desk, m.tenant.url()))["iss"], m.server.Issuer)
}

// refusalsNameTheIssuer has a client compare that of a refusal too.
func refusalsNameTheIssuer(t *testing.T, m *met) {
	same(t, "that answers name the issuer", m.server.NamesItself, true)
	a := askAs(desk, m.tenant.url())
	a.scope = "admin"
	answer := m.person.does(t, "open", a.url()).answer(t)
	same(t, "the error", answer.Get("error"), "invalid_scope")
	wordsAre(t, "who answers", answer["iss"], m.server.Issuer)
}

// issuerIsWhereItIsFound has a client take the metadata as that server's.
func issuerIsWhereItIsFound(t *testing.T, m *met) {
	same(t, "the issuer", m.server.Issuer, m.resource.Servers[0])
	same(t, "the issuer", m.server.Issuer, installed.url)
}

// grantsNeedAPerson has no client try what an extension has for machines and for
// other servers' tokens: whoever needs that has a server of their own.
func grantsNeedAPerson(t *testing.T, m *met) {
	wordsAre(t, "the list of grants", m.server.Grants, "authorization_code", "refresh_token")
	wordsAre(t, "the list of ways to authenticate", m.server.TokenAuth, "none")
	for _, grant := range []string{"client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:token-exchange"} {
		got := askTokens(t, map[string]string{"grant_type": grant, "client_id": desk, "resource": m.tenant.url()})
		same(t, "the error of "+grant, got.Error, "unsupported_grant_type")
	}
}

// tokensAreBearers has no client prove that it holds a key.
func tokensAreBearers(t *testing.T, m *met) {
	wordsAre(t, "the list of DPoP's algorithms", m.server.DPoP)
	same(t, "that proofs are needed", m.resource.NeedsDPoP, false)
	a := askAs(desk, m.tenant.url())
	same(t, "the type of a token", askTokens(t, a.redeem(m.lets(t, a).Get("code"))).Type, "Bearer")
}

// lets has the person let a client in, and returns what it hears.
func (m *met) lets(t *testing.T, a asking) url.Values {
	t.Helper()
	return m.person.consents(t, a, metPerson)
}
