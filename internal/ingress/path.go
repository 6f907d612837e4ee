// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
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
var userPath = regexp.MustCompile(`^/u/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/(mcp|sse|health|secrets(/(?P<secret>` + strings.Trim(v1alpha1.SecretNamePattern, "^$") + `))?)$`)

// anyonePath is the one URL for everyone: whose bridge it is, the credential says.
const anyonePath = endpointMCP

// resourcePath is where the metadata of a protected resource are, as RFC 9728 has
// it: before the path of the resource itself.
var resourcePath = regexp.MustCompile(`^` + oauth.MetadataPath("") + `(/u/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/(mcp|sse)|` + anyonePath + `)$`)

// auditPath is where administrators ask for audit entries.
const auditPath = "/admin/audit"

// analyticsPath is where they ask how the installation is used.
const analyticsPath = "/admin/analytics"

// adminPath is every path of administrators, under the same rule.
var adminPath = regexp.MustCompile(`^/admin/(audit|analytics|users/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/keys(/[0-9A-Za-z]{8,32})?)$`)

// secretPart is which of the expression's parts is the secret's name.
var secretPart = userPath.SubexpIndex("secret")

// sessionQuery is the one query that reaches a bridge: by it the transport of
// 2024-11-05 says which session a message is for.
var sessionQuery = regexp.MustCompile(`^sessionid=[A-Za-z0-9_.-]+$`)

// auditQuery is the form of the query for audit entries and figures. Which parameters
// there are, and what they may say, is for its handler; here nothing passes
// that two readers could split differently.
var auditQuery = regexp.MustCompile(`^[A-Za-z]+=([A-Za-z0-9_.:~+-]|%[0-9A-Fa-f]{2})*(&[A-Za-z]+=([A-Za-z0-9_.:~+-]|%[0-9A-Fa-f]{2})*)*$`)

// maxAuditQuery holds every parameter once at its longest, names in percent
// encoding included.
const maxAuditQuery = 2048

// cleanTarget returns the path of a raw request target, and whether it is a
// path of the public surface. The query is cut off unread: but for those of
// queryOf nothing on this surface takes one, and a key that somebody put there
// must not count.
func cleanTarget(target string) (path string, ok bool) {
	path, _, _ = strings.Cut(target, "?")
	if len(path) > maxPath {
		return "", false
	}
	if commonPath(path) || path == anyonePath || adminPath.MatchString(path) || resourcePath.MatchString(path) {
		return path, true
	}
	parts := userPath.FindStringSubmatch(path)
	if parts == nil || len(parts[secretPart]) > v1alpha1.SecretNameLimit {
		return "", false
	}
	return path, true
}

// queryOf returns the query of a target whose path is clean, if it is one that
// may pass. Any other query of a path that takes one is malformed.
func queryOf(target, path string) (query string, malformed bool) {
	query = strings.TrimPrefix(target[len(path):], "?")
	form, longest := sessionQuery, maxSessionQuery
	switch {
	case query == "":
		return "", false
	case path == auditPath, path == analyticsPath:
		form, longest = auditQuery, maxAuditQuery
	case !strings.HasSuffix(path, ssePath):
		return "", false
	}
	if len(query) > longest || !form.MatchString(query) {
		return "", true
	}
	return query, false
}

// target returns the path and the query of a raw request target, as cleanTarget
// and queryOf do, and those of the parts.
func (s *Server) target(target string) (path, query string, malformed, ok bool) {
	if path, ok = cleanTarget(target); ok {
		query, malformed = queryOf(target, path)
		return path, query, malformed, true
	}
	path, query, malformed, of := s.partTarget(target)
	return path, query, malformed, of != nil
}

// checkPath lets only well-formed targets reach the router, and gives it a URL
// that holds the checked path, a checked query and nothing else. It looks at the
// target as it came over the wire, because net/url has already decoded URL.Path.
// Where there is a query that is not taken, ForceQuery says so.
func (s *Server) checkPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query, malformed, ok := s.target(r.RequestURI)
		if !ok {
			writeProblem(w, r, errNotFound, nil)
			return
		}
		r.URL = &url.URL{Path: path, RawQuery: query, ForceQuery: malformed}
		r.RequestURI = path
		next.ServeHTTP(w, r)
	})
}
