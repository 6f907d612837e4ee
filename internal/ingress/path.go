// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// maxPath is longer than the longest path there is, "/u/" + 63 +
	// "/secrets/" + 64.
	maxPath = 160
)

// userPath is every path of the public surface. Nothing that needs decoding,
// cleaning or lower-casing matches, so no later step can turn one user's path
// into another's: '%', '\', ';', '//', dot segments, control bytes and the
// absolute form all miss the expression.
var userPath = regexp.MustCompile(`^/u/` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `/(mcp|health|secrets(/(?P<secret>` + strings.Trim(v1alpha1.SecretNamePattern, "^$") + `))?)$`)

// secretPart is which of the expression's parts is the secret's name.
var secretPart = userPath.SubexpIndex("secret")

// cleanTarget returns the path of a raw request target, and whether it is a
// path of the public surface. The query is cut off unread: nothing on this
// surface takes one, and a key that somebody put there must not count.
func cleanTarget(target string) (path string, ok bool) {
	path, _, _ = strings.Cut(target, "?")
	if len(path) > maxPath {
		return "", false
	}
	parts := userPath.FindStringSubmatch(path)
	if parts == nil || len(parts[secretPart]) > v1alpha1.SecretNameLimit {
		return "", false
	}
	return path, true
}

// checkPath lets only well-formed targets reach the router, and gives it a URL
// that holds the checked path and nothing else. It looks at the target as it
// came over the wire, because net/url has already decoded URL.Path.
func (s *Server) checkPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := cleanTarget(r.RequestURI)
		if !ok {
			writeProblem(w, r, errNotFound, nil)
			return
		}
		r.URL = &url.URL{Path: path}
		r.RequestURI = path
		next.ServeHTTP(w, r)
	})
}
