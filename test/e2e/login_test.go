// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// What the installation's own server knows without being told, and where its
// answers to that client go: nothing listens there, and browsers stop before it.
const (
	desk         = "desk"
	deskRedirect = "http://127.0.0.1:9/callback"

	scopes = "mcp:read mcp:call"
)

// identityHosts is where browsers find the identity provider; TestLogin sets it.
var identityHosts map[string]string

// TestLogin logs people in, at an identity provider that the installation knows
// as it would a company's, with browsers and clients that are not ours.
func TestLogin(t *testing.T) {
	t.Parallel()
	identityHosts = startIdentityProvider(t)
	t.Run("what it does", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"clients of each kind":           clientsLogIn,
			"the conformance suite":          loginConforms,
			"pages that everybody can use":   pagesAreForEverybody,
			"what is refused on a page":      pagesRefuse,
			"what is refused by a redirect":  redirectsRefuse,
			"another browser's login":        loginStaysInItsBrowser,
			"people of GitHub":               gitHubLogsIn,
			"a mix-up of providers":          answersAreOfOneProvider,
			"who may use no bridge":          strangersLearnNothing,
			"a token is for one URL":         tokensAreForOneURL,
			"a token for reading":            tokensForReadingCallNothing,
			"a code or refresh token twice":  nothingIsUsedTwice,
			"a person who is removed":        removedPeopleAreOut,
			"logins that are ended":          endedLoginsAreOver,
			"everybody gets a bridge":        everybodyGetsABridge,
			"an account that is connected":   accountsAreConnected,
			"an invitation":                  invitationsBind,
			"a search for what opens doors":  loginsLieNowhere,
			"whose bridge the rule names":    ruleNamesBridges,
			"what one finds without a token": metadataIsFound,
			"groups of the provider":         groupsDecide,
			"administrators with a role":     administratorsLogIn,
			"people who leave":               peopleLeave,
			"people of a directory":          directoriesDecide,
			"a secret that a group shares":   ownersShare,
			"the users' console":             consoleLeadsToATool,
			"the console by a login":         consoleByLogin,
			"the first days of a person":     peopleWalk,
			"the administrators' console":    adminConsoleEndsAccess,
			"a console for auditors":         auditorsSeeTheConsole,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

// newLoginTenant makes a tenant whose bridge the people may use, by their names
// at the identity provider.
func newLoginTenant(t *testing.T, short string, people ...string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "everything")
	b.Spec.OAuth = &v1alpha1.OAuthAccess{}
	for _, who := range people {
		b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: identityIssuer, Subject: who})
	}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// newVisitor starts a browser of somebody who visits the installation.
func newVisitor(t *testing.T) *person {
	t.Helper()
	return newVisitorOf(t, identityHosts)
}

// newVisitorOf is newVisitor for who finds these.
func newVisitorOf(t *testing.T, hosts map[string]string) *person {
	t.Helper()
	return newPerson(t, browser{Hosts: hosts, Ours: installed.url, Stops: []string{"http://127.0.0.1:9/*"}})
}

// asking is what a client sends somebody's browser to the installation with.
type asking struct {
	client, redirect, resource, scope string
	state, verifier                   string
	// more replaces parameters, and removes those that are empty.
	more map[string]string
}

// askAs returns what the client that is known asks with, for a URL of a tenant.
func askAs(client, resource string) asking {
	return asking{client: client, redirect: deskRedirect, resource: resource, scope: scopes, state: rand.Text(), verifier: rand.Text() + rand.Text()}
}

func (a asking) url() string {
	challenge := sha256.Sum256([]byte(a.verifier))
	parameters := map[string]string{
		"response_type": "code", "client_id": a.client, "redirect_uri": a.redirect, "resource": a.resource, "scope": a.scope, "state": a.state,
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	}
	maps.Copy(parameters, a.more)
	query := url.Values{}
	for name, value := range parameters {
		if value != "" {
			query.Set(name, value)
		}
	}
	return installed.url + "/oauth/authorize?" + query.Encode()
}

// logsIn has the person follow the client there, choose the identity provider and
// say who they are, if they have not in this browser.
func (p *person) logsIn(t *testing.T, address, who string) view {
	t.Helper()
	return p.logsInAt(t, atIdentity, address, who)
}

// logsInAt is logsIn at one of the providers.
func (p *person) logsInAt(t *testing.T, at place, address, who string) view {
	t.Helper()
	v, err := p.tryLogIn(at, address, who)
	if err != nil {
		t.Fatalf("log in at %s: %v", at, err)
	}
	return v
}

// tryLogIn opens the address and goes the way that the pages have, as far as there
// is one.
func (p *person) tryLogIn(at place, address, who string) (view, error) {
	v, err := p.try("open", address)
	if err == nil && slices.Contains(v.Links, at.link()) {
		v, err = p.try("press", at.link())
	}
	if err != nil {
		return v, err
	}
	return p.saysWho(v, who)
}

// saysWho has the person say who they are, where they are asked.
func (p *person) saysWho(v view, who string) (view, error) {
	if !strings.HasPrefix(v.URL, identityIssuer) {
		return v, nil
	}
	if v, err := p.try("fill", "Name", who); err != nil {
		return v, err
	}
	return p.try("press", "Log in")
}

// consents is logsIn, after which the person lets the client in.
func (p *person) consents(t *testing.T, a asking, who string) url.Values {
	t.Helper()
	v := p.logsIn(t, a.url(), who)
	if len(v.Buttons) == 0 {
		t.Fatalf("the person is not asked, but is at %s (%d): %.500s", v.path(), v.Status, v.Text)
	}
	v = must.Value(p.allows(v))(t)
	answer := v.answer(t)
	if answer.Get("state") != a.state || answer.Get("iss") != installed.url {
		t.Errorf("the answer is of issuer %q, and its state is the client's: %t", answer.Get("iss"), answer.Get("state") == a.state)
	}
	return answer
}

// tokens is what the token endpoint answers.
type tokens struct {
	Access    string `json:"access_token"`
	Refresh   string `json:"refresh_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Scope     string
	Error     string
	status    int
}

// askTokens sends a form to the token endpoint.
func askTokens(t *testing.T, form map[string]string) (got tokens) {
	t.Helper()
	a := postForm(t, "/oauth/token", form)
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatalf("read the answer of the token endpoint, status %d: %v", a.status, err)
	}
	got.status = a.status
	return got
}

func postForm(t *testing.T, path string, form map[string]string) answer {
	t.Helper()
	values := url.Values{}
	for name, value := range form {
		values.Set(name, value)
	}
	a, err := send(t.Context(), newHTTPClient(false), installed.url+path, "", request{
		method: http.MethodPost, body: values.Encode(), header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// redeem is how the client gets tokens for a code.
func (a asking) redeem(code string) map[string]string {
	return map[string]string{
		"grant_type": "authorization_code", "code": code, "client_id": a.client, "redirect_uri": a.redirect,
		"code_verifier": a.verifier, "resource": a.resource,
	}
}

func (a asking) refresh(token string) map[string]string {
	return map[string]string{"grant_type": "refresh_token", "refresh_token": token, "client_id": a.client, "resource": a.resource}
}

// mustLogIn has a new person log in and consent, and returns the client's tokens.
func mustLogIn(t *testing.T, a asking, who string) tokens {
	t.Helper()
	got := askTokens(t, a.redeem(newVisitor(t).consents(t, a, who).Get("code")))
	if got.status != http.StatusOK || got.Access == "" || got.Refresh == "" || !strings.EqualFold(got.Type, "Bearer") || got.ExpiresIn <= 0 {
		t.Fatalf("status %d, error %q, of type %q, for %d s, with a refresh token: %t", got.status, got.Error, got.Type, got.ExpiresIn, got.Refresh != "")
	}
	return got
}

// challenged returns nil where an answer is a challenge by which a client finds
// where to log in, with that error of RFC 6750, or with none.
func (a answer) challenged(status int, errorCode, resource string) error {
	challenge := a.header.Get("WWW-Authenticate")
	metadata := `resource_metadata="` + strings.Replace(resource, installed.url, installed.url+"/.well-known/oauth-protected-resource", 1) + `"`
	if a.status != status || !strings.HasPrefix(challenge, "Bearer ") || !strings.Contains(challenge, metadata) {
		return fmt.Errorf("status %d and challenge %q, want %d and %s", a.status, challenge, status, metadata)
	}
	if errorCode != "" && !strings.Contains(challenge, `error="`+errorCode+`"`) || errorCode == "" && strings.Contains(challenge, "error") {
		return fmt.Errorf("challenge %q, want error %q", challenge, errorCode)
	}
	return nil
}

// mustSend sends the request with the token.
func mustSend(t *testing.T, address, token string, r request) answer {
	t.Helper()
	return must.Value(send(t.Context(), newHTTPClient(false), address, token, r))(t)
}

// changeSubjects replaces the people who may use a tenant's bridge.
func changeSubjects(t *testing.T, n tenant, subjects []v1alpha1.OAuthSubject) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the people of "+n.name+" are changed", func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: subjects}
		return installed.client.Update(ctx, b)
	})
}
