// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console is the users' console: pages on which people see their bridge, mend what
// does not work, and try their tools. Pages are complete without a script. The package is a
// shell; the ingress serves its routes.
//
// It decides nothing: what a user sees and may do comes from package selfservice and the
// packages below users, as it does for the API. A session names a person, and its cookie is read here alone.
package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// Options are what a Console is made of.
type Options struct {
	// Name is what people read that the installation is called, and Contact whom they are
	// told to ask: a name, an address or a URL, empty for "an administrator".
	Name, Contact string
	// Logo is a picture in PNG or SVG, nil for the product's.
	Logo []byte
	// Administered is whether administrators have a console too.
	Administered bool
	// BaseURL is where users reach the installation, empty if that is not known.
	BaseURL  string
	Sessions *session.Keeper

	Servers selfservice.ServerActions
	Keys    *keys.Keys
	Secrets selfservice.SecretActions
	History selfservice.History
	// Requests are what people ask an administrator for.
	Requests Requests
	// News is what has changed since a person's last visit.
	News News
	// Recipe has what the catalog knows of recipes, nil for nothing.
	Recipe selfservice.Recipes
	// Login is the page on which people log in at a provider, empty without a provider.
	Login string
	// Patience is how long a form waits for what it changed to take effect, so that the page
	// after it shows the result. 0 is not at all.
	Patience time.Duration
	// Ended reports whether an administrator has ended the logins for a user's bridge since
	// a login began, nil where there are none.
	Ended func(ctx context.Context, user v1alpha1.UserID, since time.Time) (bool, error)
	Log   *slog.Logger
}

// Requests are what a person may do about servers that profiles offer on request: those of
// package requests.
type Requests interface {
	List(ctx context.Context, of route.Backend) (requests.List, error)
	Ask(ctx context.Context, by selfservice.Actor, of route.Backend, server, reason string) (requests.Request, error)
	Withdraw(ctx context.Context, by selfservice.Actor, of route.Backend, server string) error
}

// News notes a person's visit, and says what has changed since the one before: that of package
// news.
type News interface {
	Visit(ctx context.Context, of route.Backend) (news.List, error)
}

// Console is the console. It is safe for concurrent use, and keeps nothing.
type Console struct {
	*core

	door    *door
	home    *historyPages
	servers *serverPages
	secrets *secretPages
	keys    *keyPages
	tools   *toolPages
}

// core has what all pages share: the options, and how a page is written.
type core struct {
	Options

	templates map[string]*template.Template
	style     asset
	logo      asset
}

// The pages, by what they are about. door lets people in.
type (
	door struct {
		*core

		home *historyPages
	}
	historyPages struct{ *core }
	serverPages  struct{ *core }
	secretPages  struct {
		*core

		servers *serverPages
	}
	keyPages  struct{ *core }
	toolPages struct{ *core }
)

// New returns a Console.
func New(o Options) (*Console, error) {
	for _, have := range []bool{o.Sessions != nil, o.Servers != nil, o.Keys != nil, o.Secrets != nil, o.History != nil, o.Requests != nil, o.News != nil, o.Log != nil} {
		if !have {
			return nil, errors.New("console: a dependency is missing")
		}
	}
	o.Name = cmp.Or(o.Name, "hosted-bridge")
	c := &core{Options: o, templates: parsePages(), style: styleAsset()}
	if len(o.Logo) > 0 {
		var err error
		if c.logo, err = logoAsset(o.Logo); err != nil {
			return nil, err
		}
	}
	home, servers := &historyPages{c}, &serverPages{c}
	return &Console{c, &door{c, home}, home, servers, &secretPages{c, servers}, &keyPages{c}, &toolPages{c}}, nil
}

// BeginLogin begins the session of a person who logged in at a provider, and sends their
// browser to a page of the console.
func (c *Console) BeginLogin(call httpapi.Call, who httpapi.Identity, next string) error {
	v := &visit{Call: call, cookies: session.CookiesAt(call.Request())}
	if err := c.door.awaitBridge(v, who); err != nil {
		return err
	}
	if err := c.door.begin(v, who); err != nil {
		return err
	}
	v.redirect(nextPage(next))
	return nil
}

// LogoPath returns the path of a logo, empty for none.
func LogoPath(content []byte) (string, error) {
	if len(content) == 0 {
		return "", nil
	}
	a, err := logoAsset(content)
	return a.path(), err
}

// The sizes of forms, in bytes.
const (
	// maxForm holds what is typed into a form.
	maxForm = 64 << 10
	// maxSecretForm holds the largest secret, of 64 KiB, in percent encoding.
	maxSecretForm = 200 << 10
	// maxPath and maxQuery hold the longest path and query.
	maxPath  = 256
	maxQuery = 512
)

// The paths, beside those below them.
const (
	pathHome     = "/"
	pathLogin    = "/login"
	pathLogout   = "/logout"
	pathConnect  = "/connect"
	pathCatalog  = "/catalog"
	pathServers  = "/servers"
	pathTools    = "/tools"
	pathActivity = "/activity"
	pathKeys     = "/keys"
	pathSecrets  = "/secrets"
)

// params are the forms of the parts of paths.
var params = map[string]httpapi.Param{
	"server": {Form: v1alpha1.ServerNamePattern},
	"secret": {Form: `[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*`, MaxLength: 64},
	"keyId":  keys.IDParam,
	"tool":   {Form: `[A-Za-z0-9_.-]+`, MaxLength: 128},
	"recipe": {Form: `[a-z0-9][a-z0-9-]{0,62}[a-z0-9]`, MaxLength: 64},
	"icon":   {Form: `[0-9a-f]{16}\.png`},
	"file":   {Form: `(style|logo)-[0-9a-f]{16}\.(css|png|svg)`},
}

// Feature returns the console as a feature of the surface, without limits of rates.
func (c *Console) Feature() httpapi.Feature {
	f := httpapi.Feature{Name: "console", Params: params, MaxPath: maxPath, MaxQuery: maxQuery, ShowProblem: c.showProblem, ShowStranger: c.showStranger}
	f.Routes = append(c.openRoutes(), c.userRoutes()...)
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery = httpapi.Session, true
		f.Routes[i].Form = f.Routes[i].MaxBody > 0
		f.Routes[i].MaxAnswer = MaxPage
	}
	return f
}

// MaxPage is the memory for a page while it is built, in bytes: 100 tools with the longest
// texts, or a list of 200 users, in HTML.
const MaxPage = 512 << 10

// openRoutes are those that need no session.
func (c *Console) openRoutes() []httpapi.Route {
	get, post := http.MethodGet, http.MethodPost
	return []httpapi.Route{
		{Method: get, Path: "/static/:file", Handle: c.serveFile},
		{Method: get, Path: "/icons/:recipe/:icon", Handle: c.serveIcon},
		{Method: get, Path: pathHome, Query: DoneQuery, Handle: c.door.page(c.door.homeOrWelcome)},
		{Method: get, Path: pathLogin, Query: LoginQuery, Handle: c.door.page(c.door.loginForm)},
		{Method: post, Path: pathLogin, MaxBody: maxForm, Handle: c.door.page(c.door.logIn)},
	}
}

// userRoutes are those of a person with a session.
func (c *Console) userRoutes() []httpapi.Route {
	d, get, post := c.door, http.MethodGet, http.MethodPost
	const server, secret, key, tool = pathServers + "/:server", pathSecrets + "/:secret", pathKeys + "/:keyId", pathTools + "/:tool"
	const routed = server + "/tools/:tool" // In mode Router, where servers can have tools of one name.
	return []httpapi.Route{
		{Method: post, Path: pathLogout, MaxBody: maxForm, Handle: d.form(d.logOut)},
		{Method: get, Path: pathConnect, Query: DoneQuery, Handle: d.view(c.servers.connect)},
		{Method: get, Path: pathCatalog, Query: searchQuery, Handle: d.view(c.servers.catalog)},
		{Method: get, Path: server, Query: DoneQuery, Handle: d.view(c.servers.server)},
		{Method: post, Path: server + "/choice", Act: true, MaxBody: maxForm, Handle: d.form(c.servers.choose)},
		{Method: post, Path: server + "/request", Act: true, MaxBody: maxForm, Handle: d.form(c.servers.ask)},
		{Method: post, Path: server + "/withdraw", Act: true, MaxBody: maxForm, Handle: d.form(c.servers.withdraw)},
		{Method: get, Path: server + "/disconnect", Handle: d.view(c.servers.confirmDisconnect)},
		{Method: post, Path: server + "/disconnect", MaxBody: maxForm, Handle: d.form(c.servers.disconnect)},
		{Method: get, Path: pathSecrets, Query: DoneQuery, Handle: d.view(c.secrets.secrets)},
		{Method: post, Path: pathSecrets, Act: true, MaxBody: maxSecretForm, Handle: d.secretForm(c.secrets.setSecret)},
		{Method: get, Path: secret + "/delete", Handle: d.view(c.secrets.confirmDelete)},
		{Method: post, Path: secret + "/delete", MaxBody: maxForm, Handle: d.form(c.secrets.deleteSecret)},
		{Method: get, Path: pathKeys, Query: DoneQuery, Handle: d.view(c.keys.keys)},
		{Method: post, Path: pathKeys, Act: true, MaxBody: maxForm, Handle: d.form(c.keys.createKey)},
		{Method: get, Path: key + "/revoke", Handle: d.view(c.keys.confirmRevoke)},
		{Method: post, Path: key + "/revoke", MaxBody: maxForm, Handle: d.form(c.keys.revokeKey)},
		{Method: get, Path: pathTools, Query: toolsQuery, Handle: d.view(c.tools.tools)},
		{Method: post, Path: pathTools, MaxBody: maxForm, Handle: d.form(c.tools.wakeTools)},
		{Method: get, Path: tool, Handle: d.view(c.tools.tool)},
		{Method: post, Path: tool, MaxBody: maxForm, Handle: d.form(c.tools.runTool)},
		{Method: get, Path: routed, Handle: d.view(c.tools.tool)},
		{Method: post, Path: routed, MaxBody: maxForm, Handle: d.form(c.tools.runTool)},
		{Method: get, Path: pathActivity, Query: activityQuery, Handle: d.view(c.home.activity)},
	}
}

// userURL returns the URL that the person's apps use.
func (c *core) userURL(v *visit) string {
	return v.origin(c.BaseURL) + "/u/" + string(v.user()) + "/mcp"
}

// contact returns whom to ask.
func (c *core) contact() string { return cmp.Or(c.Contact, "an administrator") }

// today is how far back the figures of a day go.
const today = 24 * time.Hour

func userOf(s *session.Session) v1alpha1.UserID {
	if s == nil {
		return ""
	}
	return s.User
}
