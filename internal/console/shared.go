// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/web"
)

// What the administrators' console shares with this one is in this file.

// Look is how the installation looks on all pages.
type Look struct {
	Name, Contact string
	// Style and Logo are the paths of files, Logo empty for the product's.
	Style, Logo string
}

// Look returns how the installation looks.
func (c *Console) Look() Look {
	return Look{Name: c.Name, Contact: c.contact(), Style: c.style.path(), Logo: c.logo.path()}
}

// Layout returns what all pages have. A page defines "content", and another set of pages
// may define its "top" in place of the users' navigation.
func Layout() *template.Template {
	return template.Must(template.New("layout.html").Funcs(web.Funcs()).Funcs(template.FuncMap{"ago": ago, "when": when, "act": act, "outcome": outcome, "deed": deed, "took": took, "app": app, "count": count, "sentence": sentence, "within": within}).
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

// NextPath returns the path of this host to which a login leads, and false for what is none.
func NextPath(asked string) (string, bool) {
	return asked, len(asked) <= maxPath && nextForm.MatchString(asked)
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
