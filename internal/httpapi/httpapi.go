// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the contract between a feature of the public HTTP surface
// and the ingress that serves it, so that neither imports the other. It has no
// state and no clock.
package httpapi

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Access says which callers may use a route.
type Access int

const (
	// Public admits anyone, web pages included; the rate of each source is
	// limited.
	Public Access = iota
	// Keyed admits callers with a key of the feature's own, which the feature
	// checks by Call.Key.
	Keyed
	// Admin admits callers with the installation's admin key, and administrators who
	// logged in, which the ingress checks.
	Admin
	// Program admits any program, scripts of web pages included, that sends
	// data and has none of our keys; the rate of each source is limited.
	Program
	// Page admits a person's browser, and forms that the page itself sends:
	// another site's page may not send them. The rate of each source is
	// limited.
	Page
	// User admits callers with the key or an access token of the user of the
	// path, :userId.
	User
	// UserManage admits callers with the key of that user, or an access token with the
	// scope oauth.ScopeManage.
	UserManage
	// Session admits a person's browser, and forms that a page of the same host
	// sends. The feature keeps the session and names its person by Call.Enter. The
	// rate of each source is limited.
	Session
)

// Route is one method of one path.
type Route struct {
	Method string
	// Path has a name with a colon for each variable part, such as
	// /recipes/:name.
	Path   string
	Access Access
	// Roles are those that suffice for a route of Admin, beside oauth.RoleAdmin, or for one
	// of Session on which an administrator enters.
	Roles []oauth.Role
	// MaxBody is how many bytes a body may have; 0 means that the route takes
	// no body.
	MaxBody int64
	// Act means that a request changes the bridge of its user, and so counts in the quota of
	// their tier, as a call does.
	Act bool
	// MaxAnswer is how many bytes the answer takes while it is built; 0 means 32 KiB. So much
	// is reserved for the caller before Handle is called, and what was written counts from
	// then on.
	MaxAnswer int64
	// MediaType is a type that the body may have beside application/json; empty for none.
	MediaType string
	// Form means that the body is a form, application/x-www-form-urlencoded,
	// and not JSON.
	Form bool
	// Rare means that a source has little reason to call the route often: it
	// may every two seconds, on average.
	Rare bool
	// LetsIn means that an answer of 200 shows that the caller is no stranger, as that to
	// a code or a refresh token does.
	LetsIn bool
	// Query is the form of the query, nil if the route takes none. A form must
	// not match anything that two parsers could split or decode differently.
	Query *regexp.Regexp
	// AnyQuery means that a query of another form is not refused but removed.
	// If the route takes a query, URL.ForceQuery of the request then says so.
	AnyQuery bool
	// NoHead means that a route of GET does not answer HEAD.
	NoHead bool
	Handle func(Call) error
}

// Param is the form of a variable part of a path.
type Param struct {
	// Form is a regular expression, and MaxLength the longest that matches it,
	// in bytes, 0 for any. It must not match anything that needs decoding.
	Form      string
	MaxLength int
}

// Feature is a part of the public surface. The ingress learns its paths from
// the routes alone.
type Feature struct {
	// Name is the label of the routes in metrics and logs.
	Name   string
	Routes []Route
	// Params are the forms of the variable parts of paths, by name.
	Params map[string]Param
	// Target is for a feature whose paths Params cannot describe. It reports
	// whether a path, as it came over the wire, is one of the feature's, and
	// which form its query has, nil if it takes none.
	Target func(path string) (query *regexp.Regexp, ok bool)
	// MaxPath and MaxQuery bound paths and queries, in bytes.
	MaxPath, MaxQuery int
	// SourceRate is how many requests in a second one source may make to public
	// routes, on average, and TooManyFromSource the answer to more; zero means
	// no limit.
	SourceRate        int
	TooManyFromSource *Problem
	// HolderRate is the same for the requests that Call.LimitRate counts of one holder.
	HolderRate      int
	TooManyOfHolder *Problem
	// EncodeProblem returns how a problem is written on the feature's paths; nil means
	// Problem.Encode.
	EncodeProblem func(*Problem) (contentType string, body []byte)
	// ShowProblem answers with a page that says the problem, where a browser asks for one
	// of the feature's pages; nil means that the problem is written as for programs.
	// If it returns an error, it has answered nothing.
	ShowProblem func(http.ResponseWriter, *Problem) error
	// ShowStranger answers a person whose browser opened, without a credential, an address of
	// programs or one that nothing serves; nil for a feature without such a page. The request
	// has its raw target, and the page must not depend on which users there are. If it
	// returns an error, it has answered nothing.
	ShowStranger func(http.ResponseWriter, *http.Request, *Problem) error
	// Run runs beside the requests until its context ends; nil means nothing.
	Run func(context.Context) error
}

// Call is one request of a route. Errors that a handler returns are answered as
// problems; any other is an internal error.
type Call interface {
	Request() *http.Request
	Writer() http.ResponseWriter
	// Param returns the part of the path of that name.
	Param(name string) string
	// Now is when the request began.
	Now() time.Time
	// Key is the presented key, empty without a key or with several.
	Key() string
	// Refuse returns the error for an invalid key. After many of one source, or
	// with one key's id, the answer is to wait.
	Refuse(keyID string) error
	// LimitRate counts a request of the holder of a key, and returns an error
	// if the holder makes too many. From then on the memory that a request of Keyed takes
	// counts as the holder's.
	LimitRate(holder string) error
	// Body reads the body, of JSON or of a form as the route says, as it came.
	Body() ([]byte, error)
	// Secret reads the body of a secret, as it came, which is cleared when the
	// handler returns.
	Secret() ([]byte, error)
	// Bridge returns the bridge of the authenticated user, in any state.
	Bridge() (route.Backend, error)
	// KeyEnds returns when the caller's key ends, zero for one without an end and for a login.
	KeyEnds() time.Time
	// Audit records an act in the audit trail. An error means that the act must
	// not be answered.
	Audit(Act) error
	SessionCall
}

// SessionCall is what a request of a route with the access Session has.
type SessionCall interface {
	// Identify returns whose key a person entered. It refuses a key as a request with it
	// is refused.
	Identify(key string) (Identity, error)
	// Enter makes the person of a session the caller of the request, or returns an error
	// if that person has no access now.
	Enter(Identity) error
	// IdentifyAdministrator returns the administrator whose key a person entered. It refuses
	// a key as a request with it is refused.
	IdentifyAdministrator(key string) (Administrator, error)
	// EnterAdministrator makes the administrator of a session the caller of the request, so
	// that the audit trail names them. It returns an error if the session has ended, and one
	// of status 404 if the route needs another role.
	EnterAdministrator(Administrator) error
	// Exchange sends a JSON-RPC request of the caller to their bridge, as if they had sent
	// it to their URL: it is counted, audited and answered in the same way.
	Exchange(RPC) Exchanged
}

// Identity is the person of a session, by a key or by a login. What they may use is
// looked up at each request.
type Identity struct {
	User v1alpha1.UserID `json:"user"`
	// KeyID is the key's id, and KeyDigest tells it from a later key of the same id. Both
	// are empty for a login.
	KeyID     string `json:"keyID,omitempty"`
	KeyDigest string `json:"keyDigest,omitempty"`
	// Subject is the person who logged in, and Ruled the user that a rule of the
	// installation derives from them, if any.
	Subject *oauth.SubjectKey `json:"subject,omitempty"`
	Ruled   v1alpha1.UserID   `json:"ruled,omitempty"`
	// Since is when the person logged in.
	Since time.Time `json:"since"`
}

// Administrator is the administrator of a session, by the admin key or by a login. Roles are
// those of the login, which end with the session.
type Administrator struct {
	// KeyDigest tells the admin key from a later one. It is empty for a login.
	KeyDigest string `json:"keyDigest,omitempty"`
	// Subject is the person who logged in, nil for the admin key.
	Subject *oauth.SubjectKey `json:"subject,omitempty"`
	Roles   []oauth.Role      `json:"roles"`
	// Since is when the administrator logged in.
	Since time.Time `json:"since"`
}

// May reports whether the administrator may do what these roles may, beside oauth.RoleAdmin.
func (a Administrator) May(roles []oauth.Role) bool {
	return slices.ContainsFunc(a.Roles, func(r oauth.Role) bool { return r == oauth.RoleAdmin || slices.Contains(roles, r) })
}

// RPC is a JSON-RPC request. Method and Name are those of the body, which the headers
// of the protocol repeat. Keep is how much of the answer is kept, in bytes.
type RPC struct {
	Method, Name string
	Body         []byte
	Keep         int
}

// Exchanged is the answer to an RPC. Truncated means that the body was longer than
// RPC.Keep.
type Exchanged struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool
}

// actTimeout bounds an act. It is longer than the stores' own limits.
const actTimeout = 15 * time.Second

// ActContext returns the context of an act, made of its request's. The act goes on when its
// caller leaves: what was begun is done, and told in the audit trail.
func ActContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
}

// Act is an act of an administrator, a publisher, a login or a directory, for the audit trail.
type Act struct {
	// Name is the act, such as recipes.create.
	Name string
	// Target is the act's subject: a recipe, a publisher, or a publisher's key.
	Target string
	// Publisher is the actor, and KeyID the key; both are empty for an
	// administrator.
	Publisher, KeyID string
	// Self marks an act of users on their own bridge. Its actor is UserKey, the id of
	// their key, or Login; if both are empty, it is the caller of a route of User or
	// UserManage.
	Self    bool
	UserKey string
	// Login is the actor of an act by login: the text of their subject key,
	// which reveals no identity. User is the owner of the bridge. Both are
	// empty for the catalog's acts.
	Login, User string
	// Directory is the actor of an act by SCIM, KeyID the token, and Issuer the identity
	// provider of the people whom it is about.
	Directory, Issuer string
	// Owner is the actor of an act of an owner of a SharedServer: the text of their subject
	// key.
	Owner string
	// Unsure means that it may have been done.
	Unsure bool
}
