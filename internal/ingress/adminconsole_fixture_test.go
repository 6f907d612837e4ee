// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	people "github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// fakeAccess keeps the access of users.
type fakeAccess struct {
	mu  sync.Mutex
	is  map[v1alpha1.UserID]v1alpha1.Access
	set []string
	err error
}

// Report implements management.UserAccess.
func (f *fakeAccess) Report(_ context.Context, user v1alpha1.UserID) (people.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is, known := f.is[user]
	if f.err != nil || !known {
		return people.Report{}, orNoUser(f.err)
	}
	return people.Report{User: user, Access: is, Effective: is, Bridge: &people.ReportedBridge{Namespace: "tenants", Name: string(user), Keys: 1, Secrets: 2}}, nil
}

// Set implements management.UserAccess.
func (f *fakeAccess) Set(ctx context.Context, user v1alpha1.UserID, to v1alpha1.Access, dryRun bool) (people.Report, error) {
	r, err := f.Report(ctx, user)
	if err != nil {
		return r, err
	}
	if dryRun {
		r.Steps = people.Steps(to)
		return r, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.is[user] = to
	f.set = append(f.set, string(user)+" "+string(to))
	return r, nil
}

func (f *fakeAccess) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// acts returns what was set.
func (f *fakeAccess) acts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.set...)
}

func orNoUser(err error) error {
	if err != nil {
		return err
	}
	return people.ErrNoUser
}

// fakeRequests keeps what users ask for.
type fakeRequests struct {
	mu  sync.Mutex
	all []v1alpha1.BridgeRequest
	err error
	// away has requests be unknown.
	away error
}

// fail has decisions fail from now on.
func (f *fakeRequests) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// All implements requests.Store.
func (f *fakeRequests) All(context.Context) ([]v1alpha1.BridgeRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all), f.away
}

// Of implements requests.Store.
func (f *fakeRequests) Of(ctx context.Context, of route.Backend, servers []string) ([]v1alpha1.BridgeRequest, error) {
	all, err := f.All(ctx)
	return slices.DeleteFunc(all, func(q v1alpha1.BridgeRequest) bool {
		return q.Spec.BridgeUID != of.BridgeUID || !slices.Contains(servers, q.Spec.Server)
	}), err
}

// Ask implements requests.Store.
func (f *fakeRequests) Ask(_ context.Context, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.all, func(q v1alpha1.BridgeRequest) bool { return q.Spec.User == asked.User && q.Spec.Server == asked.Server }) {
		return nil, requests.ErrOpen
	}
	q := v1alpha1.BridgeRequest{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Spec: asked}
	f.all = append(f.all, q)
	return &q, nil
}

// Withdraw implements requests.Store.
func (f *fakeRequests) Withdraw(_ context.Context, of route.Backend, server string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.all)
	f.all = slices.DeleteFunc(f.all, func(q v1alpha1.BridgeRequest) bool {
		return q.Spec.BridgeUID == of.BridgeUID && q.Spec.Server == server
	})
	if len(f.all) == before {
		return requests.ErrNotFound
	}
	return nil
}

// Decide implements requests.Store.
func (f *fakeRequests) Decide(_ context.Context, d requests.Decision, check func(*v1alpha1.BridgeRequest) error) (*v1alpha1.BridgeRequest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	for i := range f.all {
		q := &f.all[i]
		if q.Spec.User != d.User || q.Spec.Server != d.Server {
			continue
		}
		if err := check(q); err != nil {
			return nil, err
		}
		if q.ResourceVersion != d.Version {
			return nil, requests.ErrChanged
		}
		q.Spec.Decision = &v1alpha1.RequestDecision{Verdict: d.Verdict, Reason: d.Reason}
		q.ResourceVersion += "1"
		return q, nil
	}
	return nil, requests.ErrNotFound
}

// change has the user's request for a server be another version.
func (f *fakeRequests) change(server string, change func(*v1alpha1.BridgeRequest)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.all, func(q v1alpha1.BridgeRequest) bool { return q.Spec.Server == server })
	f.all[at].ResourceVersion += "1"
	change(&f.all[at])
}

// knownBridges are the HostedBridges of a world, which may be there later.
type knownBridges struct{ *world }

// Current implements management.KnownBridges.
func (k *knownBridges) Current() *route.Table { return k.routes.Current() }

// Bridge implements management.KnownBridges.
func (k *knownBridges) Bridge(ctx context.Context, of route.Backend) (*effective.Bridge, error) {
	return k.bridgeOf(ctx, of)
}

// fakeRecipes is a catalog as administrators see it.
type fakeRecipes struct {
	entries    []catalog.Entry
	publishers []catalog.Publisher
	programs   *management.Programs
}

func (f *fakeRecipes) Entries() ([]catalog.Entry, bool) { return f.entries, true }
func (f *fakeRecipes) Publishers() []catalog.Publisher  { return f.publishers }

// Program returns the package that a recipe's install names.
func (f *fakeRecipes) Program(r recipe.Recipe) *catalog.Program {
	if r.Install == nil {
		return nil
	}
	return f.programs.Installed(v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: r.Install.Package, Version: r.Install.Version})
}

// fakeProfiles are the profiles of a world, and what they would change of its bridges.
type fakeProfiles struct {
	*adminWorld

	// computed is how often all bridges were read, and late whether that takes too long.
	computed int
	late     bool
	kept     profile.Preview
}

func (f *fakeProfiles) List(context.Context) ([]v1alpha1.BridgeProfile, error) {
	if f.profilesErr != nil {
		return nil, f.profilesErr
	}
	return slices.Clone(f.profiles), nil
}

func (f *fakeProfiles) Refuses(_ context.Context, spec *v1alpha1.BridgeProfileSpec) (string, error) {
	known := profile.Known{Namespace: "hosted-bridge-system", Tiers: quota.Defaults(), Versions: func(name string) ([]v1alpha1.RecipeVersion, bool, error) {
		known := slices.ContainsFunc(f.recipes.entries, func(e catalog.Entry) bool { return e.Name == name })
		return []v1alpha1.RecipeVersion{{Version: "1.4.0"}}, known, nil
	}}
	finding, err := known.Refuses(spec)
	return finding.Message, err
}

func (f *fakeProfiles) Preview(ctx context.Context, given v1alpha1.BridgeProfile, again bool) (profile.Preview, time.Time, error) {
	if f.late {
		<-ctx.Done()
		return profile.Preview{}, time.Time{}, ctx.Err()
	}
	now := time.Now()
	if !again {
		return f.kept, now, f.profilesErr
	}
	f.computed++
	newest, err := profile.Newest(f.profiles, []v1alpha1.BridgeProfile{given})
	if err != nil || f.profilesErr != nil {
		return profile.Preview{}, now, cmp.Or(err, f.profilesErr)
	}
	in := profile.Inputs{Profiles: newest, Tiers: quota.Defaults(), People: people.NewPeople(nil), Now: now}
	var p profile.Preview
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.bridges {
		after, selected := in.After(b)
		p.Add(b.User(), profile.Changes(effective.Of(b), after))
		if slices.Contains(selected, given.Name) {
			p.Selected++
		}
	}
	p.Sort()
	f.kept = p
	return p, now, nil
}

// adminWorld is a world with the administrators' console beside the users' one.
type adminWorld struct {
	*consoleWorld

	// adminPages are the routes of the administrators' console.
	adminPages []httpapi.Route
	access     *fakeAccess
	recipes    *fakeRecipes
	requests   *fakeRequests
	profiles   []v1alpha1.BridgeProfile
	health     admin.Health
	// profilesErr is what reading the profiles fails with.
	profilesErr error
	tries       *fakeProfiles
	// programPages is what administrators see of programs.
	programPages struct{ *management.Programs }
}

// administration is what administrators see and do, once the world is there.
type administration struct{ *management.Administration }

func newAdminWorld(t testing.TB, more ...func(*httpapi.Feature)) *adminWorld {
	t.Helper()
	held := &keys.Keys{} // It needs the world, as does what administrators see and do.
	w := &adminWorld{consoleWorld: &consoleWorld{self: newFakeSelf(), ends: newFakeEnds()}, access: &fakeAccess{is: map[v1alpha1.UserID]v1alpha1.Access{}}, recipes: &fakeRecipes{}, requests: &fakeRequests{}}
	w.tries = &fakeProfiles{adminWorld: w}
	authority, err := pki.NewAuthority([32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	keys := keybrokerKeys{oauth.NewSigningKeys(authority, 1), w.now}
	sessions := session.Options{Issuer: "http://127.0.0.1", Signer: keys, Keys: keys, Ends: w.ends, Random: rand.Reader, Now: w.now}
	users, err := console.New(console.Options{
		Administered: true, Name: "Example bridges", Contact: "ask@example.com", Logo: []byte(logoPNG), Log: slog.New(slog.DiscardHandler), Sessions: session.NewKeeper(sessions),
		Servers: w.self, Keys: w.self.userKeys(), Secrets: w.self, History: w.self, Requests: fakeAsks{w.self}, News: w.news(),
	})
	if err != nil {
		t.Fatal(err)
	}
	sessions.Of, sessions.Longest = session.OfAdministrators, admin.Longest
	does, known := &administration{}, &knownBridges{}
	pages, err := admin.New(admin.Options{
		Look: users.Look(), Namespace: "hosted-bridge-system", Sessions: session.NewKeeper(sessions), People: does, Access: does, Keys: held, Trail: does, Requests: &requests.Requests{Store: w.requests, Bridges: known},
		Catalog: w.recipes, Profiles: w.tries, Programs: &w.programPages,
		Health: func(context.Context) admin.Health { return w.health },
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.pages, w.adminPages = users.Feature().Routes, pages.Feature().Routes
	w.world = newWorldWith(t, defaults(), func(d *Deps) {
		d.OAuth = &authn.OAuth{PublicURL: publicURL, Name: "Bridges", TrustedNamespaces: []string{"tenants"}, Tokens: &fakeTokens{tokens: map[string]oauth.Token{}}}
		features := []httpapi.Feature{users.Feature(), pages.Feature(), enterFeature(pages, w.now), management.News(w.news())}
		for i := range features {
			for _, change := range more {
				change(&features[i])
			}
		}
		d.Features = append(d.Features, features...)
	})
	known.world, w.programPages.Programs = w.world, w.installed
	w.recipes.programs = w.programPages.Programs
	*held = *w.userKeys()
	does.Administration = management.NewAdministration(management.AdminOptions{
		Routes: w.routes, Keys: held, Access: w.access, Wake: w.activity.Wake, Users: &w.users, AuditIndex: w.index, Inventory: w.inventory.get,
	})
	w.alice, w.bob = w.addUser("alice"), w.addUser("bob")
	w.access.is["alice"], w.access.is["bob"] = v1alpha1.AccessAllowed, v1alpha1.AccessAllowed
	w.seed()
	return w
}

// seed gives the world something to show on each page.
func (w *adminWorld) seed() {
	now := time.Now()
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = []v1alpha1.Server{{Name: "mail"}, {Name: "search"}}
		b.Status = v1alpha1.HostedBridgeStatus{
			Phase: v1alpha1.PhaseRunning, URL: "https://bridges.example.com/u/alice/mcp", Tools: new(int32(12)),
			ServerStates: []v1alpha1.ServerState{
				{Name: "mail", From: "mail", State: v1alpha1.ServerUnhealthy, Reason: "CredentialsRefused", Message: "the server refuses MAIL_TOKEN", Since: &metav1.Time{Time: now.Add(-time.Hour)}},
				{Name: "search", State: v1alpha1.ServerHealthy},
			},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(now)}},
			Profiles:   []v1alpha1.ProfileUse{{Name: "engineering"}},
			Secrets:    &v1alpha1.SecretsStatus{Missing: []string{"MAIL_TOKEN"}},
		}
	})
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Status.Phase = v1alpha1.PhaseAsleep })
	for _, server := range []string{"jira", "wiki"} {
		w.requests.all = append(w.requests.all, v1alpha1.BridgeRequest{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now), ResourceVersion: "1"},
			Spec:       v1alpha1.BridgeRequestSpec{User: "alice", BridgeUID: "uid-alice", Server: server, Offer: "recipe " + server, Reason: "I triage <tickets>"},
		})
	}
	w.keys.keys["uid-alice"] = []keys.Info{{ID: "abcdefgh", Name: "laptop"}}
	w.profiles = []v1alpha1.BridgeProfile{{
		ObjectMeta: metav1.ObjectMeta{Name: "engineering"},
		Spec:       v1alpha1.BridgeProfileSpec{Priority: 10, Tier: "team", Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Everyone: true}},
		Status:     v1alpha1.BridgeProfileStatus{Matched: 212, Updated: 209, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRollingOut, LastTransitionTime: metav1.NewTime(now)}}},
	}}
	w.recipes.entries = []catalog.Entry{
		{Name: "mail", Owner: "acme", Recipe: recipe.Recipe{Description: "Reads mail."}, Refused: "The signature is not the publisher's."},
		{Name: "search", Accepted: true, Recipe: recipe.Recipe{Description: "Finds documents."}, Updated: now, Versions: []catalog.Version{{Version: "1.4.0"}}, Quality: &catalog.Overlay{Verified: new(true), Score: new(87)}},
		{Name: "wiki", Owner: "acme", Accepted: true, Updated: now, Quality: &catalog.Overlay{Verified: new(true), VerifiedAt: new(now.Add(-time.Hour))}},
	}
	w.recipes.publishers = []catalog.Publisher{{ID: "acme", Verified: true, Keys: []catalog.PublisherKey{{ID: "k1"}}}}
	w.index.answer(audit.Page{Entries: []audit.Entry{
		{Time: now, UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey, ID: "abcdefgh"}, Call: audit.Call{Method: methods.CallTool, Server: "search", Tool: "query", Status: audit.Success}},
		{Time: now, UserID: "bob", Principal: audit.Principal{Kind: audit.KindOAuth, ID: "s.0123", Role: "admin"}, Call: audit.Call{Method: "admin/access.set", Action: "Suspended", Status: audit.Success}},
	}, Next: &audit.Position{TimeMS: 1000, Writer: "w", Seq: 3}, Shared: true}, nil)
	w.index.answerFigures(figuresOfDay(now), nil)
	w.inventory.set(inventory(nil), nil)
	w.health = admin.Health{
		Version: "v1.2.3", Confirmed: now, KeyVersions: map[int32]int{1: 3, 2: 40}, Index: "SQLite", Logins: admin.Store{Kind: "PostgreSQL"}, Quotas: admin.Store{Kind: "store"},
		Replicas: []admin.Replicas{{Process: "operator", Ready: 2, Wanted: 2}, {Process: "keybroker", Ready: 1, Wanted: 2}, {Process: "ingress", Ready: 0, Wanted: 2}}, CatalogKnown: true,
	}
}

// figuresOfDay are the figures of 24 hours.
func figuresOfDay(now time.Time) audit.Figures {
	f := audit.Figures{Shared: true, Uses: []audit.Use{{UserID: "alice", Server: "search", Tally: audit.Tally{Calls: 900, Errors: 20}}},
		Tools: []audit.ToolCalls{{Server: "search", Tool: "query", Tally: audit.Tally{Calls: 900, Errors: 20}}}}
	total := audit.Calls{ByStatus: map[audit.Status]int64{}, Latency: audit.Latency{P50: 40, P95: 900, P99: 1900}}
	for i := range int64(24) {
		calls := audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: 10 + i*i%17*9, audit.ToolError: i % 5}, Latency: audit.Latency{P50: 30 + i, P95: 400 + 20*i, P99: 1900}}
		for status, n := range calls.ByStatus {
			total.ByStatus[status] += n
		}
		f.Steps = append(f.Steps, audit.Step{Start: now.UTC().Truncate(time.Hour).Add(time.Duration(i-24) * time.Hour), Calls: calls, Users: 3 + i%5})
	}
	f.Total = total
	return f
}

// enterFeature logs in as a provider's login does, with the role that its path names.
func enterFeature(pages *admin.Console, now func() time.Time) httpapi.Feature {
	return httpapi.Feature{Name: "enter", MaxPath: 64, Params: map[string]httpapi.Param{"role": {Form: "[a-z]+"}}, Routes: []httpapi.Route{{
		Method: http.MethodGet, Path: "/enter/:role", Access: httpapi.Page, Handle: func(c httpapi.Call) error {
			subject := oauth.KeyOf(issuerURL, "ann")
			return pages.Begin(c, httpapi.Administrator{Subject: &subject, Roles: []oauth.Role{oauth.Role(c.Param("role"))}, Since: now()}, "/console")
		},
	}}}
}

// administrator returns an administrator who has logged in with the admin key.
func (w *adminWorld) administrator() *visitor {
	w.t.Helper()
	v := w.visitor()
	if got := v.enterKey(adminKey, "/console"); got.status != http.StatusSeeOther {
		w.t.Fatalf("log in: %d %s", got.status, got.body)
	}
	return v
}

// with returns an administrator who has logged in at a provider, with a role.
func (w *adminWorld) with(role oauth.Role) *visitor {
	w.t.Helper()
	v := w.visitor()
	if got := v.open("/enter/" + string(role)); got.status != http.StatusSeeOther {
		w.t.Fatalf("log in: %d %s", got.status, got.body)
	}
	return v
}

func (v *visitor) enterKey(key, next string) reply {
	v.w.t.Helper()
	form := v.open("/console/login").hidden()
	form.Set("key", key)
	form.Set("next", next)
	return v.post("/console/login", form)
}

// acted returns the acts that the audit trail has, with whose they are.
func (w *adminWorld) acted() []string {
	var acts []string
	for _, e := range w.audit.all() {
		acts = append(acts, strings.TrimSpace(string(e.Principal.Kind)+" "+e.Principal.Role+" "+e.Method+" "+e.UserID+" "+e.Action))
	}
	return acts
}

// regexpValue finds a field that keeps what was typed.
var regexpValue = regexp.MustCompile(`value="(ali|alice|2026-03-02)"`)
