// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admin is the administrators' console: pages on which those who run an
// installation see whose servers do not work and why, look at one person, end access, and
// search the audit trail. Pages are complete without a script. The package is a shell; the
// ingress serves its routes.
//
// It decides nothing: what administrators see and do is what the API under /admin says and
// does, by the same functions, which also write the audit entries. Each request has the
// role that its route needs, or finds nothing.
package admin

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/profile/manifest"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// People are the users of the installation. Queries are those of the API's routes.
type People interface {
	Users(c httpapi.Call, query string) (overview.Page, error)
	User(c httpapi.Call, user v1alpha1.UserID) (overview.Detail, error)
	Problems(c httpapi.Call) (overview.Problems, error)
	// Known returns which of some users have a page: those with a bridge, or with a record of
	// their access.
	Known(ctx context.Context, users []v1alpha1.UserID) map[v1alpha1.UserID]bool
	// Wake starts a bridge that sleeps, and does not wait for it.
	Wake(c httpapi.Call, user v1alpha1.UserID) (overview.Wake, error)
}

// Access is what users may use.
type Access interface {
	Access(c httpapi.Call, user v1alpha1.UserID) (access.Report, error)
	SetAccess(c httpapi.Call, user v1alpha1.UserID, to v1alpha1.Access, dryRun bool) (access.Report, error)
}

// Trail is what was called and done. Queries are those of the API's routes.
type Trail interface {
	AuditEntries(c httpapi.Call, query string) (overview.AuditPage, error)
	Analytics(c httpapi.Call, query string) (overview.Analytics, error)
}

// Requests are what users ask for, which an administrator answers.
type Requests interface {
	All(ctx context.Context, by selfservice.Actor, state string) ([]requests.UserRequest, error)
	Decide(ctx context.Context, by selfservice.Actor, d requests.Decision) (requests.UserRequest, error)
}

// Catalog is the catalog as it is known.
type Catalog interface {
	// Entries returns the recipes, false while they are not known.
	Entries() ([]catalog.Entry, bool)
	Publishers() []catalog.Publisher
	// Program returns the package that bridges start for a recipe, nil for none.
	Program(recipe.Recipe) *catalog.Program
}

// ErrMayNotRead says that the API server does not let the ingress read something.
var ErrMayNotRead = errors.New("the ingress may not read it")

// Profiles are the BridgeProfiles of the installation. Errors wrap ErrMayNotRead where the
// API server refuses to show them.
type Profiles interface {
	List(context.Context) ([]v1alpha1.BridgeProfile, error)
	// Refuses returns why the installation does not accept a profile, empty if it does.
	Refuses(context.Context, *v1alpha1.BridgeProfileSpec) (why string, err error)
	// Preview returns what a profile would change, and when that was computed: now with
	// again, or else a short time ago.
	Preview(ctx context.Context, p v1alpha1.BridgeProfile, again bool) (profile.Preview, time.Time, error)
}

// Options are what a Console is made of.
type Options struct {
	// Look is how the installation looks.
	Look console.Look
	// Namespace is the installation's, for the commands that pages name.
	Namespace string
	Sessions  *session.Keeper
	People    People
	Access    Access
	Keys      *keys.Keys
	Trail     Trail
	Requests  Requests
	Catalog   Catalog
	Profiles  Profiles
	Programs  Programs
	Health    func(context.Context) Health
	// Login is the page on which people log in whose groups have roles, empty where none
	// have.
	Login string
	Log   *slog.Logger
}

// Console is the administrators' console. It is safe for concurrent use, and keeps nothing.
type Console struct {
	*core

	door     *door
	people   *peoplePages
	trail    *trailPages
	catalog  *catalogPages
	requests *requestPages
	programs *programPages
	profiles *profilePages
}

// core has what all pages share: the options, and how a page is written.
type core struct {
	Options

	templates map[string]*template.Template
}

// The pages, by what they are about. door lets people in.
type (
	door         struct{ *core }
	peoplePages  struct{ *core }
	trailPages   struct{ *core }
	catalogPages struct{ *core }
	requestPages struct{ *core }
	programPages struct{ *core }
	profilePages struct{ *core }
)

// New returns a Console.
func New(o Options) (*Console, error) {
	for _, have := range []bool{o.Sessions != nil, o.People != nil, o.Access != nil, o.Keys != nil, o.Trail != nil, o.Requests != nil, o.Catalog != nil, o.Profiles != nil, o.Programs != nil, o.Health != nil, o.Log != nil} {
		if !have {
			return nil, errors.New("administrators' console: a dependency is missing")
		}
	}
	c := &core{Options: o, templates: parsePages()}
	return &Console{c, &door{c}, &peoplePages{c}, &trailPages{c}, &catalogPages{c}, &requestPages{c}, &programPages{c}, &profilePages{c}}, nil
}

// Longest is how long a session of an administrator lasts. It is not renewed: the roles of
// a login end with it, and nothing else takes them away.
const Longest = time.Hour

const (
	// maxForm holds what is typed into a form.
	maxForm = 4 << 10
	// maxTryForm holds a manifest in percent encoding, and maxTryPage a page that has it twice,
	// each character as long as in HTML.
	maxTryForm = 3*manifest.MaxSize + maxForm
	maxTryPage = 1 << 20
	// maxPath and maxQuery hold the longest path and query.
	maxPath  = 256
	maxQuery = 2048
)

// The paths, beside those below them.
const (
	pathHome     = "/console"
	pathLogin    = pathHome + "/login"
	pathLogout   = pathHome + "/logout"
	pathPeople   = pathHome + "/people"
	pathRequests = pathHome + "/requests"
	pathAudit    = pathHome + "/audit"
	pathUsage    = pathHome + "/usage"
	pathProfiles = pathHome + "/profiles"
	pathTry      = pathHome + "/try-profile"
	pathCatalog  = pathHome + "/catalog"
	pathPrograms = pathHome + "/programs"
	pathHealth   = pathHome + "/health"
)

// part is the form of a part of a path that is not known.
const part = `[A-Za-z0-9_.-]+`

// params are the forms of the parts of paths.
var params = map[string]httpapi.Param{
	"userId":  {Form: v1alpha1.UserIDPattern},
	"keyId":   keys.IDParam,
	"server":  {Form: v1alpha1.ServerNamePattern},
	"profile": {Form: `[a-z0-9]([a-z0-9.-]*[a-z0-9])?`, MaxLength: 128},
	"program": {Form: programs.NamePattern, MaxLength: programs.MaxName},
	"a":       {Form: part, MaxLength: 128}, "b": {Form: part, MaxLength: 128}, "c": {Form: part, MaxLength: 128},
	"d": {Form: part, MaxLength: 128}, "e": {Form: part, MaxLength: 128},
}

// The roles of pages, beside oauth.RoleAdmin, as the API's routes have them. deciders answer
// requests.
var (
	readers  = []oauth.Role{oauth.RoleAuditor}
	curators = []oauth.Role{oauth.RoleAuditor, oauth.RoleCurator}
	deciders = []oauth.Role{oauth.RoleCurator}
)

// Feature returns the console as a feature of the surface, without limits of rates.
func (c *Console) Feature() httpapi.Feature {
	f := httpapi.Feature{Name: "administrators", Params: params, MaxPath: maxPath, MaxQuery: maxQuery, ShowProblem: c.showProblem}
	f.Routes = append(c.views(), c.forms()...)
	f.Routes = append(f.Routes, c.nothing()...)
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery = httpapi.Session, true
		f.Routes[i].Form = f.Routes[i].MaxBody > 0
		f.Routes[i].MaxAnswer = cmp.Or(f.Routes[i].MaxAnswer, console.MaxPage)
	}
	return f
}

// The paths of one person, and of one request.
const (
	pathRequest = pathRequests + "/:userId/:server"
	pathPerson  = pathPeople + "/:userId"
	pathKey     = pathPerson + "/keys/:keyId/revoke"
	pathWake    = pathPerson + "/wake"
)

// views are the pages that change nothing.
func (c *Console) views() []httpapi.Route {
	d, p, t, k, q, r := c.door, c.people, c.trail, c.catalog, c.requests, c.profiles
	view := func(path string, roles []oauth.Role, query *regexp.Regexp, handle handler) httpapi.Route {
		return httpapi.Route{Method: http.MethodGet, Path: path, Roles: roles, Query: query, Handle: d.view(handle)}
	}
	routes := []httpapi.Route{
		{Method: http.MethodGet, Path: pathLogin, Query: console.LoginQuery, Handle: d.page(d.loginForm)},
		view(pathHome, readers, console.DoneQuery, p.home),
		view(pathPeople, readers, console.FilterQuery, p.list),
		view(pathPerson, readers, console.DoneQuery, p.person),
		view(pathKey, nil, nil, p.confirmRevoke),
		view(pathRequests, curators, console.DoneQuery, q.list),
		view(pathRequest, deciders, nil, q.confirm),
		view(pathAudit, readers, console.FilterQuery, t.audit),
		view(pathUsage, readers, console.FilterQuery, t.usage),
		view(pathProfiles, readers, nil, r.list),
		view(pathProfiles+"/:profile", readers, console.FilterQuery, r.profile),
		view(pathTry, readers, console.FilterQuery, r.form),
		view(pathCatalog, curators, console.FilterQuery, k.recipes),
		view(pathHealth, readers, nil, t.health),
	}
	for _, a := range acts {
		routes = append(routes, view(pathPerson+"/"+a.name, nil, nil, p.confirm(a)))
	}
	return append(routes, c.programViews(view)...)
}

// programViews are those about programs.
func (c *Console) programViews(view func(string, []oauth.Role, *regexp.Regexp, handler) httpapi.Route) []httpapi.Route {
	g := c.programs
	routes := []httpapi.Route{
		view(pathProgram, readers, nil, g.program),
		view(pathChanges, readers, console.FilterQuery, g.changes),
		view(pathLock, readers, nil, g.file(g.Programs.Lock)),
		view(pathSPDX, readers, nil, g.file(g.Programs.SPDX)),
	}
	for i := range routes {
		routes[i].MaxAnswer = programs.MaxFile
	}
	return append(routes, view(pathPrograms, readers, console.FilterQuery, g.list), view(pathReinstall, nil, nil, g.confirm))
}

// forms are those that change something.
func (c *Console) forms() []httpapi.Route {
	d, p, q := c.door, c.people, c.requests
	form := func(path string, roles []oauth.Role, handle handler) httpapi.Route {
		return httpapi.Route{Method: http.MethodPost, Path: path, Roles: roles, MaxBody: maxForm, Handle: d.form(handle)}
	}
	routes := []httpapi.Route{
		{Method: http.MethodPost, Path: pathLogin, MaxBody: maxForm, Handle: d.page(d.logIn)},
		form(pathLogout, oauth.Roles(), d.logOut),
		form(pathKey, nil, p.revoke),
		form(pathWake, nil, p.wake),
		form(pathRequest, deciders, q.decide),
		form(pathReinstall, nil, c.programs.reinstall),
		{Method: http.MethodPost, Path: pathTry, Roles: readers, MaxBody: maxTryForm, MaxAnswer: maxTryPage, Handle: d.form(c.profiles.try)},
	}
	for _, a := range acts {
		routes = append(routes, form(pathPerson+"/"+a.name, nil, p.do(a)))
	}
	return routes
}

// nothing are all other paths. They are answered as the pages of another role are, so that
// the two cannot be told apart.
func (c *Console) nothing() []httpapi.Route {
	notFound := func(*visit) error { return console.ErrNotFound }
	var routes []httpapi.Route
	for _, path := range []string{"/:a", "/:a/:b", "/:a/:b/:c", "/:a/:b/:c/:d", "/:a/:b/:c/:d/:e"} {
		routes = append(routes,
			httpapi.Route{Method: http.MethodGet, Path: pathHome + path, Roles: oauth.Roles(), Handle: c.door.view(notFound)},
			httpapi.Route{Method: http.MethodPost, Path: pathHome + path, Roles: oauth.Roles(), MaxBody: maxForm, Handle: c.door.view(notFound)})
	}
	return routes
}
