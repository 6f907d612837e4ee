// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package surface is what a part of the public HTTP surface and the ingress that
// serves it agree on, so that neither imports the other. It holds types alone.
package surface

import (
	"net/http"
	"regexp"
	"time"
)

// Access is who may call a route.
type Access int

const (
	// Public is anyone, also a web page; each source at a limited rate.
	Public Access = iota
	// Keyed is for who has a key of the part's own, which the part checks by
	// Call.Key.
	Keyed
	// Admin is for who has the installation's admin key, which the ingress
	// checks.
	Admin
	// Program is anyone's program, also a web page's script, that sends something
	// and has no key of ours; each source at a limited rate.
	Program
	// Page is a page that a person looks at, and what they send from it: no other
	// site's page may send it. Each source at a limited rate.
	Page
)

// Route is one method of one path.
type Route struct {
	Method string
	// Path has a name with a colon where a part of it differs, such as
	// /recipes/:name.
	Path   string
	Access Access
	// MaxBody is how many bytes a body may have; 0 is that there is none.
	MaxBody int64
	// Form is that the body is a form, application/x-www-form-urlencoded, and not
	// JSON.
	Form bool
	// Rare is that a source has little reason to call the route often: it may every
	// two seconds, on average.
	Rare   bool
	Handle func(Call) error
}

// Part is a part of the public surface.
type Part interface {
	// Routes are what it serves.
	Routes() []Route
	// Target reports whether a path, as it came over the wire, is one of the
	// part's, and which form its query has, nil where it takes none. A form
	// must leave nothing that two readers could split or decode differently.
	Target(path string) (query *regexp.Regexp, ok bool)
}

// Call is one request of a route. Errors that a handler returns are answered as
// problems, as package problem has them; any other is an internal error.
type Call interface {
	Request() *http.Request
	Writer() http.ResponseWriter
	// Param is the part of the path of that name.
	Param(name string) string
	// Now is when the request began.
	Now() time.Time
	// Key is the key that was presented, empty for none, and for several.
	Key() string
	// Refuse returns the error for a key that opens nothing. Many of one
	// source, or with one key's id, are answered by asking to wait.
	Refuse(keyID string) error
	// Admit counts a request of whose key it was, and returns the error for one
	// who makes too many.
	Admit(holder string) error
	// Body reads the body, of JSON or of a form as the route says, as it came.
	Body() ([]byte, error)
	// Audit writes what was done to the audit trail. An error means that the
	// act must not be answered.
	Audit(Act) error
}

// Act is what an administrator or a publisher did, for the audit trail.
type Act struct {
	// Name is what was done, such as recipes.create.
	Name string
	// On is what it was done to: a recipe, a publisher, or a publisher's key.
	On string
	// Publisher is who did it, and KeyID by which key; both are empty for an
	// administrator.
	Publisher, KeyID string
	// Login is who did it by a login: the text of their subject key, which tells
	// nobody who they are. User is whose bridge it was about. Both are empty for
	// the catalog's acts.
	Login, User string
	// Unsure says that it may have been done.
	Unsure bool
}
