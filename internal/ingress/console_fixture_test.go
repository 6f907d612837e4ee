// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// fakeSelf is what users see of their bridges, and notes what they do.
type fakeSelf struct {
	keys.Store // Nothing else of it is called.

	mu       sync.Mutex
	servers  map[v1alpha1.UserID]selfservice.Servers
	tools    selfservice.Tools
	keys     []keys.Info
	secrets  map[string]string
	events   []selfservice.Event
	requests requests.List
	usage    selfservice.Usage
	failWith error
	// noIndex is an installation without an index of its audit trail.
	noIndex bool
	did     []string
	// toolNames are those of alice's tools, nil while they are not known. visits are hers, and
	// visited is how often one was noted.
	toolNames selfservice.ToolNames
	visits    *v1alpha1.Visits
	visited   int
}

func newFakeSelf() *fakeSelf {
	usage := selfservice.Usage{Tier: testTier, Quota: []selfservice.Quota{{Limit: "hour", Most: 300, Remaining: 24, ResetSeconds: 60}}}
	return &fakeSelf{usage: usage, secrets: map[string]string{}, servers: map[v1alpha1.UserID]selfservice.Servers{
		"alice": {Bridge: selfservice.Bridge{Status: health.Healthy, Tools: 3, Tier: testTier}, Servers: []selfservice.Server{
			{Name: "search", State: health.Healthy, Tools: 3, Actions: []selfservice.Action{}},
			{Name: "github", State: health.Unhealthy, Reason: health.ReasonSecretMissing, Message: "It waits for a secret.", Secrets: []string{"GITHUB_TOKEN"},
				Fix: &selfservice.Fix{Code: selfservice.FixSetSecret, Text: "Set GITHUB_TOKEN.", Secrets: []string{"GITHUB_TOKEN"}}},
			{Name: "docs", State: selfservice.ServerOff, Reason: selfservice.ReasonOff, Profile: "engineering", Use: v1alpha1.ServerOptional,
				Fix: &selfservice.Fix{Code: selfservice.FixTurnOn, Text: "Turn the server on."}, Actions: []selfservice.Action{selfservice.ActionTurnOn}},
			{Name: "jira", State: selfservice.ServerOff, Reason: selfservice.ReasonNotApproved, Profile: "engineering", Use: v1alpha1.ServerOnRequest,
				Fix: &selfservice.Fix{Code: selfservice.FixRequest, Text: "Ask for the server."}, Actions: []selfservice.Action{}},
		}},
	}}
}

func (f *fakeSelf) note(of route.Backend, act string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failWith != nil {
		return f.failWith
	}
	f.did = append(f.did, string(of.User)+" "+act)
	return nil
}

// acts returns what was done, but for what was only read.
func (f *fakeSelf) acts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.did...)
}

// fail has everything fail from now on.
func (f *fakeSelf) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failWith = err
}

func (f *fakeSelf) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failWith
}

func (f *fakeSelf) Servers(_ context.Context, of route.Backend) (selfservice.Servers, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.servers[of.User], nil // It is known without the API server.
}

// become has one of alice's servers be another.
func (f *fakeSelf) become(s selfservice.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.servers["alice"]
	of.Servers = slices.Clone(of.Servers)
	of.Servers[slices.IndexFunc(of.Servers, func(o selfservice.Server) bool { return o.Name == s.Name })] = s
	f.servers["alice"] = of
}

func (f *fakeSelf) Choose(_ context.Context, _ selfservice.Actor, of route.Backend, server string, c selfservice.Choice) (selfservice.Server, error) {
	return selfservice.Server{}, f.note(of, "choose "+server+" "+c.Use)
}

func (f *fakeSelf) ClearChoice(_ context.Context, _ selfservice.Actor, of route.Backend, server string) (selfservice.Server, error) {
	return selfservice.Server{}, f.note(of, "clear "+server)
}

func (f *fakeSelf) Tools(_ context.Context, _ route.Backend, q selfservice.ToolQuery) (selfservice.Tools, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, err := q.Page()
	found := f.tools
	found.Tools = slices.DeleteFunc(slices.Clone(found.Tools), func(t selfservice.Tool) bool {
		return !page.Keep(health.Tool{Name: t.Name, Server: t.Server, Tool: t.Tool, Title: t.Title, Description: t.Description})
	})
	return found, err
}

// userKeys returns the keys that f keeps.
func (f *fakeSelf) userKeys() *keys.Keys {
	return &keys.Keys{Store: f, Known: func(context.Context, route.Backend) (*effective.Bridge, error) { return nil, errAway }}
}

// List implements keys.Store, as Create and Revoke do.
func (f *fakeSelf) List(context.Context, route.Backend) ([]keys.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys, f.failWith
}

// newKey is the key that the fake makes.
const newKey = "hb_madeonce0001_a-key-that-is-shown-once"

func (f *fakeSelf) Create(_ context.Context, of route.Backend, name string, expiresAt time.Time) (*keys.Minted, error) {
	return &keys.Minted{Key: newKey, ID: "madeonce0001"}, f.note(of, "create "+name+" "+time.Until(expiresAt).Round(time.Minute).String())
}

func (f *fakeSelf) Revoke(_ context.Context, of route.Backend, id string) error {
	return f.note(of, "revoke "+id)
}

func (f *fakeSelf) Secrets(context.Context, route.Backend) (selfservice.Secrets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []selfservice.Secret
	for name := range f.secrets {
		list = append(list, selfservice.Secret{Name: name, Servers: []string{}})
	}
	return selfservice.Secrets{Secrets: list}, f.failWith
}

func (f *fakeSelf) SetSecret(_ context.Context, _ selfservice.Actor, of route.Backend, name string, value []byte) (selfservice.Secret, bool, error) {
	if err := f.note(of, "set "+name); err != nil {
		return selfservice.Secret{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secrets[name] = string(value)
	return selfservice.Secret{}, true, nil
}

func (f *fakeSelf) DeleteSecret(_ context.Context, _ selfservice.Actor, of route.Backend, name string) error {
	return f.note(of, "delete "+name)
}

func (f *fakeSelf) Connections(context.Context, route.Backend) (selfservice.Connections, error) {
	return selfservice.Connections{Connections: []selfservice.Connection{{Server: "github", Host: "github.example.com", Connected: true, Secret: "OTHER"}}}, f.err()
}

func (f *fakeSelf) Disconnect(_ context.Context, _ selfservice.Actor, of route.Backend, server string) error {
	return f.note(of, "disconnect "+server)
}

func (f *fakeSelf) Usage(context.Context, route.Backend, selfservice.UsageQuery) (selfservice.Usage, error) {
	return f.usage, f.err()
}

func (f *fakeSelf) Activity(context.Context, route.Backend, audit.Query) (selfservice.Activity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.noIndex {
		return selfservice.Activity{}, problems.AuditIndexDisabled
	}
	return selfservice.Activity{Entries: f.events}, f.failWith
}

func (f *fakeSelf) ToolNames(context.Context, route.Backend) (selfservice.ToolNames, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.toolNames == nil {
		return nil, errAway
	}
	return f.toolNames, nil
}

// Read implements news.Store, as Write does.
func (f *fakeSelf) Read(context.Context, route.Backend) (news.Kept, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return news.Kept{Visits: f.visits, Keys: f.keys, Version: strconv.Itoa(f.visited)}, f.failWith
}

func (f *fakeSelf) Write(_ context.Context, _ route.Backend, before news.Kept, visits v1alpha1.Visits) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before.Version != strconv.Itoa(f.visited) {
		return news.ErrChanged
	}
	f.visits, f.visited = &visits, f.visited+1
	return f.failWith
}

// news returns what has changed for the world's users.
func (w *consoleWorld) news() *news.News {
	return &news.News{Bridges: w.self, Requests: fakeAsks{w.self}, Store: w.self, Now: w.today, Log: slog.New(slog.DiscardHandler)}
}

// fakeAsks is what a person has asked for, and notes what they do.
type fakeAsks struct{ *fakeSelf }

func (f fakeAsks) List(context.Context, route.Backend) (requests.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests, f.failWith
}

func (f fakeAsks) Ask(_ context.Context, _ selfservice.Actor, of route.Backend, server, reason string) (requests.Request, error) {
	return requests.Request{}, f.note(of, "ask "+server+" "+reason)
}

func (f fakeAsks) Withdraw(_ context.Context, _ selfservice.Actor, of route.Backend, server string) error {
	return f.note(of, "withdraw "+server)
}

// keybrokerKeys signs and publishes keys as the keybroker does.
type keybrokerKeys struct {
	keys oauth.SigningKeys
	now  func() time.Time
}

func (k keybrokerKeys) Sign(_ context.Context, claims []byte) (string, error) {
	return k.keys.Sign(claims, k.now())
}
func (k keybrokerKeys) Keys(context.Context) (jose.JSONWebKeySet, error) {
	return k.keys.Public(k.now())
}

// fakeEnds are the ends of sessions, as all replicas know them.
type fakeEnds struct {
	mu   sync.Mutex
	at   map[string]time.Time
	fail error
}

func newFakeEnds() *fakeEnds { return &fakeEnds{at: map[string]time.Time{}} }

func (f *fakeEnds) EndedAt(owner string) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at[owner], nil
}

func (f *fakeEnds) End(_ context.Context, owner string, at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.at[owner] = at
	}
	return f.fail
}

// consoleWorld is a world with the console, whose clock for sessions the test has.
type consoleWorld struct {
	*world

	self *fakeSelf
	ends *fakeEnds
	// pages are the routes of the console.
	pages      []httpapi.Route
	alice, bob string
	// came is who comes back from a provider.
	came httpapi.Identity
	// ended is whether the store of logins says that they were ended.
	ended atomic.Bool

	mu    sync.Mutex
	later time.Duration
	// passed is how much time has passed for visits.
	passed time.Duration
}

func (w *consoleWorld) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.later)
}

// wait has time pass for sessions.
func (w *consoleWorld) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later += d
}

// today returns the time for visits.
func (w *consoleWorld) today() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.passed)
}

// pass has time pass for visits. Sessions go on.
func (w *consoleWorld) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed += d
}

func newConsoleWorld(t *testing.T, more ...func(*console.Options)) *consoleWorld {
	t.Helper()
	cw := &consoleWorld{self: newFakeSelf(), ends: newFakeEnds()}
	authority, err := pki.NewAuthority([32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	keys := keybrokerKeys{oauth.NewSigningKeys(authority, 1), cw.now}
	o := console.Options{
		Name: "Example bridges", Contact: "ask@example.com", Log: slog.New(slog.DiscardHandler),
		Sessions: session.NewKeeper(session.Options{Issuer: "http://127.0.0.1", Signer: keys, Keys: keys, Ends: cw.ends, Random: rand.Reader, Now: cw.now}),
		Ended:    func(context.Context, v1alpha1.UserID, time.Time) (bool, error) { return cw.ended.Load(), nil },
		Servers:  cw.self, Keys: cw.self.userKeys(), Secrets: cw.self, History: cw.self, Requests: fakeAsks{cw.self}, News: cw.news(),
	}
	for _, change := range more {
		change(&o)
	}
	pages, err := console.New(o)
	if err != nil {
		t.Fatal(err)
	}
	cw.pages = pages.Feature().Routes
	// What the authorization server does when somebody comes back from a provider.
	came := httpapi.Feature{Name: routeLogin, MaxPath: maxPath, Routes: []httpapi.Route{{
		Method: http.MethodGet, Path: "/oauth/came", Access: httpapi.Page, Handle: func(c httpapi.Call) error {
			return pages.BeginLogin(c, cw.came, "/keys")
		},
	}}}
	cw.world = newWorldWith(t, defaults(), func(d *Deps) {
		d.Features = append(d.Features, pages.Feature(), came)
		d.OAuth = &authn.OAuth{PublicURL: publicURL, Name: "Bridges", Tokens: &fakeTokens{}, TrustedNamespaces: []string{"tenants"}}
	})
	cw.alice, cw.bob = cw.addUser("alice"), cw.addUser("bob")
	return cw
}

// visitor is a person before a browser without scripts.
type visitor struct {
	w      *consoleWorld
	client *http.Client
}

func (w *consoleWorld) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w, &http.Client{Jar: jar, Transport: w.client.Transport, Timeout: wait.Limit, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// logged returns a person who has logged in with a key.
func (w *consoleWorld) logged(key string) *visitor {
	w.t.Helper()
	v := w.visitor()
	if got := v.logIn(key, "/"); got.status != http.StatusSeeOther {
		w.t.Fatalf("log in: %d %s", got.status, got.body)
	}
	return v
}

func (v *visitor) url() string { return "http://" + v.w.addr }

func (v *visitor) send(r *http.Request) reply {
	v.w.t.Helper()
	res, err := v.client.Do(r)
	if err != nil {
		v.w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body), false}
}

func (v *visitor) open(path string) reply {
	v.w.t.Helper()
	r, err := http.NewRequest(http.MethodGet, v.url()+path, nil)
	if err != nil {
		v.w.t.Fatal(err)
	}
	return v.send(r)
}

// post sends a form as a browser does, with the headers that it sets itself.
func (v *visitor) post(path string, form url.Values, header ...string) reply {
	v.w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, v.url()+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.url())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return v.send(r)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(csrf|visit|version)" value="([^"]*)">`)

// hidden returns the hidden fields by which a page knows its forms.
func (r reply) hidden() url.Values {
	form := url.Values{}
	for _, found := range hiddenField.FindAllStringSubmatch(r.body, -1) {
		form.Set(found[1], found[2])
	}
	return form
}

func (v *visitor) logIn(key, next string) reply {
	v.w.t.Helper()
	form := v.open("/login").hidden()
	form.Set("key", key)
	form.Set("next", next)
	return v.post("/login", form)
}

// submit opens a page and sends one of its forms.
func (v *visitor) submit(page, action string, fields ...string) reply {
	v.w.t.Helper()
	form := v.open(page).hidden()
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.post(action, form)
}

var errClusterAway = problems.KeysAway

var _ httpapi.SessionCall = (*featureCall)(nil)
