// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// maxPath is longer than the longest path there is, "/u/" + 63 +
	// "/secrets/" + 64.
	maxPath = 160
	// ssePath ends the path of the transport of 2024-11-05.
	ssePath = "/sse"
	// endpointMCP ends the path of the streamable HTTP transport.
	endpointMCP = "/mcp"
	// maxSessionQuery holds the longest session id that a bridge signs, of 4,096
	// characters.
	maxSessionQuery = len("sessionid=") + 4096
)

// userPath is every path of users. Nothing that needs decoding,
// cleaning or lower-casing matches, so no later step can turn one user's path
// into another's: '%', '\', ';', '//', dot segments, control bytes and the
// absolute form all miss the expression.
var userPath = regexp.MustCompile(`^/u/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/(mcp|sse)$`)

// commonPath is the one URL for all users: the credential says which bridge it is.
const commonPath = endpointMCP

// resourcePath is where the metadata of a protected resource are, as RFC 9728 has
// it: before the path of the resource itself.
var resourcePath = regexp.MustCompile(`^` + oauth.MetadataPath("") + `(/u/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/(mcp|sse)|` + commonPath + `)$`)

// sessionQuery is the one query that reaches a bridge: by it the transport of
// 2024-11-05 says which session a message is for.
var sessionQuery = regexp.MustCompile(`^sessionid=[A-Za-z0-9_.-]+$`)

// paths are the request targets that are served.
type paths struct{ features []*feature }

// callPath returns the path of a raw request target, and whether it is a
// path of users' bridges. The query is cut off unread: but for those of
// callQuery nothing on this surface takes one, and a key that somebody put there
// must not count.
func callPath(target string) (path string, ok bool) {
	path, _, _ = strings.Cut(target, "?")
	if len(path) > maxPath {
		return "", false
	}
	// People paste the URL with a slash at its end.
	if short := strings.TrimSuffix(path, "/"); isUserMCPPath(short) || short == commonPath {
		return short, true
	}
	if resourcePath.MatchString(path) || userPath.MatchString(path) {
		return path, true
	}
	return "", false
}

// callQuery returns the query of a target whose path is clean, if it is one that
// may pass. Any other query of a path that takes one is malformed.
func callQuery(target, path string) (query string, malformed bool) {
	query = strings.TrimPrefix(target[len(path):], "?")
	if query == "" || !strings.HasSuffix(path, ssePath) {
		return "", false
	}
	if len(query) > maxSessionQuery || !sessionQuery.MatchString(query) {
		return "", true
	}
	return query, false
}

// target returns the path and the query of a raw request target, as callPath
// and callQuery do, and those of the features.
func (p *paths) target(target string) (path, query string, malformed, ok bool) {
	if path, ok = callPath(target); ok {
		query, malformed = callQuery(target, path)
		return path, query, malformed, true
	}
	path, query, malformed, of := p.featureTarget(target)
	return path, query, malformed, of != nil
}

// check lets only well-formed targets reach the router, and gives it a URL
// that holds the checked path, a checked query and nothing else. It looks at the
// target as it came over the wire, because net/url has already decoded URL.Path.
// Where there is a query that is not taken, ForceQuery says so.
func (p *paths) check(r *request) error {
	path, query, malformed, ok := p.target(r.http.RequestURI)
	if !ok {
		return problems.NotFound
	}
	r.http.URL = &url.URL{Path: path, RawQuery: query, ForceQuery: malformed}
	r.http.RequestURI = path
	return nil
}

// featureTarget returns the path and the query of a raw request target, and which
// feature serves it, nil for none.
func (p *paths) featureTarget(target string) (path, query string, malformed bool, of *feature) {
	path, query, _ = strings.Cut(target, "?")
	for _, f := range p.features {
		form, anyQuery, ok := f.paths.Target(path)
		switch {
		case !ok:
			continue
		case query == "", form == nil && anyQuery:
			return path, "", false, f
		case form == nil, len(query) > f.MaxQuery, !form.MatchString(query):
			return path, "", true, f
		}
		return path, query, false, f
	}
	return "", "", false, nil
}

// routeOf returns the route label of a raw request target.
func (p *paths) routeOf(target string) string {
	if route := userRouteOf(target); route != routeOther {
		return route
	}
	switch path, _, _, of := p.featureTarget(target); {
	case of == nil:
		return routeOther
	case strings.HasPrefix(path, "/admin/"):
		return routeAdmin
	default:
		return of.Name
	}
}

// strangerPage returns how a person's browser at an address of programs, or at one that
// nothing serves, is told so; nil for any other request. It does not depend on whether there
// is such a user. A source that opens too many pages is answered as programs are.
func (p *paths) strangerPage(r *request) func(http.ResponseWriter, *httpapi.Problem) error {
	if !httpapi.Browses(r.http) {
		return nil
	}
	i := slices.IndexFunc(p.features, func(f *feature) bool { return f.ShowStranger != nil })
	if i < 0 {
		return nil
	}
	f, asked := p.features[i], r.http.WithContext(r.context()) // With the target as it came.
	return func(w http.ResponseWriter, problem *httpapi.Problem) error {
		if err := limitSource(f.sources, f.TooManyFromSource)(r); err != nil {
			return err
		}
		return f.ShowStranger(w, asked, problem)
	}
}

// encoderOf returns how problems are written on the routes of a label, nil for as on most.
func (p *paths) encoderOf(route string) func(*httpapi.Problem) (contentType string, body []byte) {
	for _, f := range p.features {
		if f.Name == route {
			return f.EncodeProblem
		}
	}
	return nil
}

// userRouteOf returns the route label of a target that is no feature's.
func userRouteOf(target string) string {
	path, ok := callPath(target)
	if !ok {
		return routeOther
	}
	if isUserMCPPath(path) || path == commonPath {
		return routeMCP
	}
	if strings.HasPrefix(path, "/.well-known/") {
		return routeLogin
	}
	if strings.HasSuffix(path, ssePath) {
		return routeSSE
	}
	return routeMCP
}
