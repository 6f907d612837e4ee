// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build identity && linux

package authserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/provider"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	programs "github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// realProvider is an identity provider that the test runs.
type realProvider struct {
	id string
	// version returns which one runs.
	version func(*testing.T) string
	// command takes a file of settings as its last argument, as test/e2e/clients/identity.mjs
	// has them.
	command []string
	// subject is what the provider calls the person alice.
	subject string
	// scopes are those that the provider needs to name groups.
	scopes []string
	// keyed is whether the client has a key in place of a secret, and the provider requires
	// pushed authorization requests.
	keyed bool
	// deleted is the status of the refresh that ends it after alice is deleted at the provider,
	// which is so long after.
	deleted      int
	deletedAfter time.Duration
}

var realProviders = []realProvider{
	{
		id: "dex", version: dexVersion, command: []string{os.Getenv("DEX")},
		subject: "CgVhbGljZRIFbG9jYWw", // A message of protobuf: alice, local.
		scopes:  []string{"openid", "profile", "groups"},
		deleted: http.StatusServiceUnavailable, deletedAfter: recheckGrace,
	},
	{
		id: "oidc-provider", version: npmVersion, command: []string{os.Getenv("NODE"), "../../test/e2e/clients/identity.mjs"},
		subject: "alice", scopes: []string{"openid", "profile"},
		deleted: http.StatusBadRequest, deletedAfter: untilRenewal,
	},
	{
		id: "oidc-provider-key", version: npmVersion, command: []string{os.Getenv("NODE"), "../../test/e2e/clients/identity.mjs"},
		subject: "alice", scopes: []string{"openid", "profile"}, keyed: true,
		deleted: http.StatusBadRequest, deletedAfter: untilRenewal,
	},
}

// title names the provider in the documentation.
func (p realProvider) title(t *testing.T) string {
	name, isKeyed := strings.CutSuffix(p.id, "-key")
	name += " " + p.version(t)
	if isKeyed {
		name += ", which requires a key and pushed requests"
	}
	return name
}

// credential returns the values of the client's key.
func (p realProvider) credential() string {
	if p.keyed {
		return ", `clientKey`, `clientKeyID`"
	}
	return ""
}

// recheckGrace is that of an installation without a setting of its own.
const recheckGrace = time.Hour

func dexVersion(t *testing.T) string {
	t.Helper()
	built := must.Value(buildinfo.ReadFile(os.Getenv("DEX")))(t)
	for _, module := range built.Deps {
		if module.Path == "github.com/dexidp/dex" {
			return module.Version
		}
	}
	t.Fatal("DEX is not built from dex")
	return ""
}

func npmVersion(t *testing.T) string {
	t.Helper()
	var of struct{ Version string }
	content := must.Value(os.ReadFile("../../test/e2e/node_modules/oidc-provider/package.json"))(t)
	must.Succeed(t, json.Unmarshal(content, &of))
	return of.Version
}

// TestRealIdentityProviders logs a person in at identity providers that run as processes, and
// changes there what the installation has to notice. The clock of the authorization server is
// the test's and jumps. Providers make tokens, and internal/authserver/provider verifies them,
// by the clock of the machine. PAGE is the documentation that the results are written into.
func TestRealIdentityProviders(t *testing.T) {
	var rows strings.Builder
	for _, p := range realProviders {
		t.Run(p.id, func(t *testing.T) {
			r := startReal(t, p)
			refresh := r.groupsReachBridgeAndRole()
			refresh, changed := r.aChangedGroupIsSeen(refresh)
			refresh, served := r.anAbsenceOfTwoHoursEndsNoLogin(refresh)
			out := r.aDeletedPersonIsOut(refresh)
			cells := []string{
				p.title(t), "`scopes: [" + strings.Join(p.scopes, ", ") + "]`, `groups: {claim: groups}`" + p.credential(), changed, out,
				"tokens up to " + inMinutes(served) + ", then 503; no new login afterwards",
			}
			rows.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		})
	}
	if file := os.Getenv("PAGE"); file != "" && !t.Failed() {
		writeResults(t, file, rows.String())
	}
}

// realWorld is an installation whose people log in at a real provider.
type realWorld struct {
	*world
	realProvider
	url string
	// away is whether the installation cannot reach the provider.
	away  atomic.Bool
	pages *http.Transport
}

// RoundTrip implements http.RoundTripper for the requests of the installation.
func (r *realWorld) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.away.Load() {
		return nil, errors.New("connection refused")
	}
	return r.pages.RoundTrip(req)
}

func startReal(t *testing.T, p realProvider) *realWorld {
	t.Helper()
	if p.command[0] == "" {
		t.Fatal("DEX and NODE must name programs: run make test-identity")
	}
	port := programs.UnusedPort(t, "127.0.0.1")
	r := &realWorld{realProvider: p, url: fmt.Sprintf("http://127.0.0.1:%d", port), pages: &http.Transport{}}
	dir := t.TempDir()
	config := provider.Config{
		ID: p.id, Issuer: r.url, ClientID: "bridges", Scopes: p.scopes, Groups: "groups", Limits: flow.Limits{Grace: recheckGrace}, Client: &http.Client{Transport: r},
	}
	client := map[string]any{"id": "bridges", "redirectURI": issuer + "/oauth/callback/" + p.id}
	if credential := filepath.Join(dir, "credential"); p.keyed {
		client["jwks"] = writeClientKey(t, credential)
		config.Key, config.KeyID = provider.InFile(credential), "of-the-test"
	} else {
		must.Succeed(t, os.WriteFile(credential, []byte("of-the-test"), 0o600))
		client["secretFile"], config.Secret = credential, provider.InFile(credential)
	}
	settings := must.Value(json.Marshal(map[string]any{"issuer": r.url, "port": port, "userInfo": true, "client": client}))(t)
	file := filepath.Join(dir, "settings.json")
	must.Succeed(t, os.WriteFile(file, settings, 0o600))
	started := programs.Start(t, dir, p.id, exec.Command(p.command[0], append(p.command[1:], file)...))
	started.AwaitOK(t, r.url+"/.well-known/openid-configuration")
	t.Cleanup(r.pages.CloseIdleConnections)

	made := must.Value(provider.OIDC(config))(t)
	r.world = newWorld(t, func(o *Options) {
		o.Providers = []flow.Provider{made}
		o.Roles = []flow.Role{{Role: oauth.RoleAdmin, Issuer: r.url, Group: "platform"}}
	})
	r.users.set(p.subject, "alice")
	return r
}

// writeClientKey writes a new private key of the client, and returns its public half for the
// provider.
func writeClientKey(t *testing.T, file string) jose.JSONWebKeySet {
	t.Helper()
	key := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	block := &pem.Block{Type: "PRIVATE KEY", Bytes: must.Value(x509.MarshalPKCS8PrivateKey(key))(t)}
	must.Succeed(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "of-the-test", Use: "sig", Algorithm: "ES256"}}}
}

// set has the provider know something of alice.
func (r *realWorld) set(what string) {
	r.t.Helper()
	req := must.Value(http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/people?name=alice", strings.NewReader(what)))(r.t)
	answer := must.Value(r.pages.RoundTrip(req))(r.t)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		r.t.Fatalf("set %s: status %d", what, answer.StatusCode)
	}
}

var (
	firstForm   = regexp.MustCompile(`(?s)<form method="post"(?: action="([^"]*)")?>(.*?)</form>`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"\s*/?>`)
)

// passes logs alice in where an answer sends a browser, and returns where the provider sends
// her back. She gives her name and password to each form, and agrees.
func (r *realWorld) passes(from answer) string {
	r.t.Helper()
	jar := must.Value(cookiejar.New(nil))(r.t)
	browser := &http.Client{Transport: r.pages, Jar: jar, CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(next.URL.String(), issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page := must.Value(browser.Get(from.location(r.t).String()))(r.t)
	for range 5 {
		body := must.Value(io.ReadAll(page.Body))(r.t)
		must.Succeed(r.t, page.Body.Close())
		if back := page.Header.Get("Location"); strings.HasPrefix(back, issuer) {
			return back
		}
		form := firstForm.FindSubmatch(body)
		if form == nil {
			r.t.Fatalf("%s: status %d, and no form: %.900s", page.Request.URL.Path, page.StatusCode, body)
		}
		to := must.Value(page.Request.URL.Parse(html.UnescapeString(string(form[1]))))(r.t)
		fields := url.Values{"login": {"alice@example.com"}, "password": {"password"}, "name": {"alice"}, "act": {"login"}}
		for _, hidden := range hiddenField.FindAllSubmatch(form[2], -1) {
			fields.Set(string(hidden[1]), html.UnescapeString(string(hidden[2])))
		}
		page = must.Value(browser.PostForm(to.String(), fields))(r.t)
	}
	r.t.Fatal("the provider shows one form after the other")
	return ""
}

// administered returns the page of administrators after alice has logged in.
func (r *realWorld) administered() answer {
	r.t.Helper()
	b := r.browser()
	return b.get(r.passes(b.get(pathAdminister)))
}

// expectRealGroups fails the test unless these groups are recorded, by which profiles select.
func (r *realWorld) expectRealGroups(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.users.groupsOf(r.subject)); diff != "" {
		r.t.Fatalf("groups (-want +got):\n%s\n%s", diff, r.logs)
	}
}

// groupsReachBridgeAndRole logs alice in for a program and as an administrator, and
// returns the program's refresh token.
func (r *realWorld) groupsReachBridgeAndRole() string {
	r.t.Helper()
	r.set(`{"groups": ["eng", "platform"]}`)
	b, c := r.browser(), deskFor(alices)
	sent := b.answers(b.get(r.passes(b.get(c.authorize()))), "allow").location(r.t).Query()
	access, refresh := r.mustRedeem(c.redeems(sent.Get("code")))
	must.Value(r.verify(access, alices))(r.t)
	r.expectRealGroups("eng", "platform")
	token := must.Value(r.verify(tokenInPage.FindString(r.administered().body), issuer+"/admin"))(r.t)
	if diff := cmp.Diff([]oauth.Role{oauth.RoleAdmin}, token.Roles); diff != "" {
		r.t.Errorf("roles (-want +got):\n%s", diff)
	}
	return refresh
}

// aChangedGroupIsSeen returns how old groups are at most.
func (r *realWorld) aChangedGroupIsSeen(refresh string) (next, age string) {
	r.t.Helper()
	c := deskFor(alices)
	_, refresh = r.mustRedeem(c.refreshes(refresh))
	r.set(`{"groups": ["eng"]}`)
	r.wait(untilRenewal)
	_, refresh = r.mustRedeem(c.refreshes(refresh))
	r.expectRealGroups("eng")
	page(r.t, r.administered(), http.StatusForbidden, "You are no administrator here")
	return refresh, "at the first refresh after " + inMinutes(untilRenewal)
}

// anAbsenceOfTwoHoursEndsNoLogin returns how long refreshes were answered with tokens.
func (r *realWorld) anAbsenceOfTwoHoursEndsNoLogin(refresh string) (next string, served time.Duration) {
	r.t.Helper()
	c := deskFor(alices)
	r.away.Store(true)
	for away := untilRenewal; away <= 2*time.Hour; away += untilRenewal {
		r.wait(untilRenewal)
		a := r.program(pathToken, c.refreshes(refresh))
		if a.status == http.StatusOK && served == away-untilRenewal {
			refresh, served = a.json("refresh_token"), away
			continue
		}
		refused(r.t, a, http.StatusServiceUnavailable, codeUnavailable)
	}
	if served >= recheckGrace || served < recheckGrace-2*untilRenewal {
		r.t.Errorf("tokens for %v", served)
	}
	r.away.Store(false)
	r.wait(untilRetry)
	_, refresh = r.mustRedeem(c.refreshes(refresh))
	r.expectRealGroups("eng")
	return refresh, served
}

// aDeletedPersonIsOut returns when, and how.
func (r *realWorld) aDeletedPersonIsOut(refresh string) string {
	r.t.Helper()
	c := deskFor(alices)
	r.set(`{"closed": true}`)
	for gone := untilRenewal; gone <= recheckGrace; gone += untilRenewal {
		r.wait(untilRenewal)
		a := r.program(pathToken, c.refreshes(refresh))
		if a.status == http.StatusOK {
			refresh = a.json("refresh_token")
			continue
		}
		if a.status != r.deleted || gone != r.deletedAfter {
			r.t.Errorf("status %d after %v, want %d after %v: %s", a.status, gone, r.deleted, r.deletedAfter, a.body)
		}
		how := fmt.Sprintf("after %s: %d `%s`", inMinutes(gone), a.status, a.json("error"))
		if said := r.answered(); a.status == http.StatusServiceUnavailable {
			how += ". The provider answers " + said
		}
		return how
	}
	r.t.Fatal("a deleted person gets tokens")
	return ""
}

// answered returns what the provider said last, as administrators read it.
func (r *realWorld) answered() string {
	var last flow.ProviderHealth
	for _, s := range r.replicas {
		for _, h := range s.ProviderHealth() {
			if h.Failed.After(last.Failed) {
				last = h
			}
		}
	}
	return strings.TrimPrefix(last.Trouble, "it answers with ")
}

func inMinutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

const (
	resultsBegin = "<!-- What make test-identity found. It writes these lines. -->\n"
	resultsEnd   = "<!-- End of what make test-identity found. -->\n"
)

// writeResults replaces the rows of the table between the two comments of a page.
func writeResults(t *testing.T, file, rows string) {
	t.Helper()
	page := string(must.Value(os.ReadFile(file))(t))
	before, rest, found := strings.Cut(page, resultsBegin)
	_, after, ended := strings.Cut(rest, resultsEnd)
	if !found || !ended {
		t.Fatalf("%s lacks the comments %q and %q", file, resultsBegin, resultsEnd)
	}
	table := "| provider | values | a changed group is seen | a deleted person is out | the provider is away for two hours |\n" +
		"| --- | --- | --- | --- | --- |\n" + rows
	must.Succeed(t, os.WriteFile(file, []byte(before+resultsBegin+"\n"+table+"\n"+resultsEnd+after), 0o644))
}
