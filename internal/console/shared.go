// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

// What the administrators' console shares with this one is in this file.

// Look is how the installation looks on all pages.
type Look struct {
	// Contact is empty where the installation names nobody.
	Name, Contact string
	// Style and Logo are the paths of files, Logo empty for the product's.
	Style, Logo string
}

// Look returns how the installation looks.
func (c *Console) Look() Look {
	return Look{Name: c.Name, Contact: c.Contact, Style: c.style.path(), Logo: c.logo.path()}
}

// Item is an entry of the navigation.
type Item struct{ Path, Name string }

// Layout returns what all pages have. A page defines "content".
func Layout() *template.Template {
	return template.Must(template.New("layout.html").Funcs(pages.Funcs()).Funcs(template.FuncMap{"ago": ago, "when": when, "act": act, "outcome": outcome, "deed": deed, "took": Took, "app": app, "count": count, "sentence": sentence, "within": within, "installed": installed, "asks": asksForSecret, "tile": tileOf}).
		ParseFS(pageFiles, "pages/layout.html", "pages/parts.html"))
}

// SetHeader sets what browsers keep to.
func SetHeader(h http.Header) { setHeader(h) }

// Redirect sends the browser to a path of this host, by GET.
func Redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// The forms of queries that both consoles have. None has anything that two parsers could
// split differently.
var (
	// DoneQuery is that of a page that says what was done.
	DoneQuery = regexp.MustCompile(`^done=[a-z-]{1,32}$`)
	// LoginQuery is that of a page of logins: the page to come back to, and why.
	LoginQuery = regexp.MustCompile(`^((next=/([A-Za-z0-9_./-]|%[0-9A-Fa-f]{2})*)?(&?why=(ended|out))?)$`)
	// FilterQuery is that of a page with filters.
	FilterQuery = regexp.MustCompile(`^[A-Za-z]+=([A-Za-z0-9_.:~*+-]|%[0-9A-Fa-f]{2})*(&[A-Za-z]+=([A-Za-z0-9_.:~*+-]|%[0-9A-Fa-f]{2})*)*$`)
)

// NextPath returns the page to which a login leads. It reports false if asked is not a page
// of this host.
func NextPath(asked string) (string, bool) {
	path, query, has := strings.Cut(asked, "?")
	return asked, len(asked) <= maxPath && pathForm.MatchString(path) && (!has || FilterQuery.MatchString(query))
}

// LoginAt returns the URL of a page of logins from which a browser comes back to next.
func LoginAt(login, next string) string {
	path, query, has := strings.Cut(next, "?")
	if has {
		path += url.QueryEscape("?" + query)
	}
	return login + "?next=" + path
}

// Filtered returns the page at a path with the query of a request, or the path alone if the
// request is no page or its query only says what was done.
func Filtered(path string, r *http.Request) string {
	query := r.URL.RawQuery
	if page, ok := NextPath(path + "?" + query); ok && r.Method == http.MethodGet && !strings.HasPrefix(query, "done=") {
		return page
	}
	return path
}

// The refusals that all pages have.
var (
	ErrForm     = errForm
	ErrAway     = errAway
	ErrNotFound = errNotFound
	ErrNoCookie = errNoCookie
)

// ReadForm returns the form that a page of the session with that CSRF secret sent.
func ReadForm(c httpapi.Call, secret string) (url.Values, error) {
	body, err := c.Body()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !flow.Same(form.Get(fieldCSRF), secret) {
		return nil, errForm
	}
	return form, nil
}
