// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

//go:embed pages
var pageFiles embed.FS

// pageNames are the templates of the pages, each in a file of its own.
var pageNames = []string{"login", "home", "people", "person", "confirm", "audit", "usage", "requests", "request", "profiles", "profile", "tryprofile", "catalog", "programs", "program", "changes", "health", "message"}

func parsePages() map[string]*template.Template {
	layout := template.Must(console.Layout().Funcs(template.FuncMap{
		"phase": phaseOf, "serverState": serverStateOf, "condition": conditionOf, "reason": overview.Words, "access": accessOf, "replicas": replicasOf, "store": storeOf, "backups": backupsOf, "provider": providerOf,
		"actor": actorOf, "deed": deedOf, "ended": endedOf, "number": number, "calls": calls, "steptime": stepTime, "visible": visible,
		"program": programOf, "size": size, "digest": shortDigest, "versions": versions, "withScripts": withScripts, "packages": packages, "ran": ranOrNot, "titled": titledOf, "more": more, "personAt": personAt, "counted": counted,
	}).ParseFS(pageFiles, "pages/parts.html"))
	pages := map[string]*template.Template{}
	for _, name := range pageNames {
		pages[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	return pages
}

// item is an entry of the navigation, for those with one of its roles.
type item struct {
	console.Item

	roles []oauth.Role
}

// items are all entries.
var items = []item{
	{console.Item{Path: pathHome, Name: "Overview"}, readers}, {console.Item{Path: pathPeople, Name: "People"}, readers},
	{console.Item{Path: pathRequests, Name: "Requests"}, curators}, {console.Item{Path: pathUsage, Name: "Usage"}, readers},
	{console.Item{Path: pathAudit, Name: "Audit"}, readers}, {console.Item{Path: pathProfiles, Name: "Profiles"}, readers},
	{console.Item{Path: pathCatalog, Name: "Catalog"}, curators}, {console.Item{Path: pathPrograms, Name: "Programs"}, readers},
	{console.Item{Path: pathHealth, Name: "Health"}, readers},
}

// homeOf returns the first page of an administrator.
func homeOf(who httpapi.Administrator) string {
	for _, i := range items {
		if who.May(i.roles) {
			return i.Path
		}
	}
	return pathHome
}

// frame is what each page has.
type frame struct {
	console.Look

	Title string
	// Small is a page without navigation.
	Small bool
	// Home is the administrator's first page, and Items what they may look at.
	Home  string
	Items []console.Item
	// Who is how the administrator logged in: "admin key", or their roles. Logout is the path at
	// which they log out.
	Who, Logout string
	CSRF        string
	// Path is the part of the navigation to which the page belongs.
	Path string
	// Said is what was done, and Trouble what could not be shown.
	Said, Trouble string
	// Changing is after how many seconds a page of which something is under way looks again, 0
	// for all other pages.
	Changing int
	// Icons are those of recipes, by name, on pages that show servers.
	Icons map[string]string
	// Admin is whether the administrator may change something.
	Admin bool
}

// updateEvery is how often a page of which something is under way looks again, in seconds.
// Each look is in the audit trail, so it is rarer than for users.
const updateEvery = 3 * console.UpdateEvery

// content is a page's own part, which has a frame.
type content interface{ framed() *frame }

func (f *frame) framed() *frame { return f }

// show answers with a page.
func (c *core) show(v *visit, name string, status int, data content) error {
	f := data.framed()
	f.Home = pathHome
	if v.session != nil {
		f.enter(v)
	} else {
		f.Small = true
	}
	if f.Said == "" {
		f.Said = doneTexts[v.query("done")]
	}
	return c.write(v.Writer(), name, status, data)
}

// write answers with a page that needs no visit.
func (c *core) write(w http.ResponseWriter, name string, status int, data content) error {
	data.framed().Look = c.Look
	var b bytes.Buffer
	if err := c.templates[name].Execute(&b, data); err != nil {
		return fmt.Errorf("write page %s: %w", name, err)
	}
	console.WritePage(w, status, b.Bytes())
	return nil
}

// showProblem answers a request that did not reach its page.
func (c *core) showProblem(w http.ResponseWriter, p *httpapi.Problem) error {
	m := &message{frame: frame{Title: p.Title(), Home: pathHome, Small: true}, Text: p.Detail}
	return c.write(w, "message", p.Status, m)
}

// enter adds what a page of an administrator has.
func (f *frame) enter(v *visit) {
	who := v.who()
	f.CSRF, f.Home, f.Admin, f.Who, f.Logout = v.session.CSRF, homeOf(who), who.May(nil), "admin key", pathLogout
	if who.Subject != nil {
		names := make([]string, len(who.Roles))
		for i, role := range who.Roles {
			names[i] = string(role)
		}
		f.Who = strings.Join(names, ", ")
	}
	for _, i := range items {
		if who.May(i.roles) {
			f.Items = append(f.Items, i.Item)
		}
	}
}

// icons returns the icons of recipes, by name.
func (c *core) icons() map[string]string {
	icons := map[string]string{}
	entries, _ := c.Catalog.Entries()
	for _, e := range entries {
		if e.Recipe.Metadata.Icon != "" {
			icons[e.Name] = e.Recipe.Metadata.Icon
		}
	}
	return icons
}

// message is a page that says one thing.
type message struct {
	frame

	Text string
}

// showError shows an error to the administrator.
func (c *core) showError(v *visit, err error) error {
	if errors.Is(err, errRedirected) {
		return nil
	}
	p, known := errors.AsType[*httpapi.Problem](err)
	if !known || v.Request().Context().Err() != nil {
		return err
	}
	if p.Status >= http.StatusInternalServerError {
		c.Log.WarnContext(v.Request().Context(), "a page of the administrators' console failed", slog.String("code", p.Code), slog.Any("error", err))
	}
	if p.Status == http.StatusNotFound {
		p = console.ErrNotFound // Whatever is not there is not there in the same way.
	}
	h := v.Writer().Header()
	p.SetHeader(h, "hosted-bridge")
	h.Del("WWW-Authenticate") // A browser would ask for a password.
	return c.show(v, "message", p.Status, &message{frame: frame{Title: p.Title()}, Text: p.Detail})
}

// troubleOf returns what a page says in place of a part that cannot be shown.
func (c *core) troubleOf(v *visit, what string, err error) string {
	detail := "It cannot be reached at the moment."
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		detail = p.Detail
	}
	c.Log.WarnContext(v.Request().Context(), "a part of a page of the administrators' console failed", slog.String("part", what), slog.Any("error", err))
	return fmt.Sprintf("%s cannot be shown now: %s", what, detail)
}

// refusal returns what is wrong with a query, empty if something else failed.
func refusal(err error) string {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && p.Status == http.StatusBadRequest {
		return p.Detail
	}
	return ""
}
