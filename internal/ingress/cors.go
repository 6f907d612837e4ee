// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
)

// The answers to what a page of a configured origin asks before it calls and
// may see afterwards. No answer allows credentials: there are none that a
// browser would add by itself, and a page that has a key can send it.
var (
	// exposedHeaders are what a page may see besides the few that any may.
	exposedHeaders = strings.Join([]string{
		"Allow", "Mcp-Protocol-Version", "Mcp-Session-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "Www-Authenticate", "X-Request-Id",
	}, ", ")
	// allowedMethods are those of all routes; a route refuses the others.
	allowedMethods = strings.Join([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, ", ")
)

const (
	// preflightAge is how long a browser need not ask again, in seconds: ten
	// minutes, so that a change of the configuration is soon seen.
	preflightAge = "600"
	// maxAskedHeaders bounds how many header names are looked at.
	maxAskedHeaders = 64
)

// cors tells browsers that pages of the configured origins may call, and
// answers what they ask before they do. It is before authentication, since a
// browser asks without a key, and says the same of every user. Of what is not a
// user's, pages may read what anyone may: those routes answer for themselves.
//
// It reports whether it has answered.
func (a *access) cors(r *request) (answered bool, err error) {
	if path := r.http.URL.Path; !strings.HasPrefix(path, "/u/") && path != commonPath {
		return false, nil
	}
	header, asked := r.w.Header(), r.http.Header
	origin := a.origins.Configured(asked["Origin"])
	if a.origins.Any() {
		// The answer to another origin, or to none, is another one.
		header.Add("Vary", "Origin")
	}
	if origin != "" {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", exposedHeaders)
	}
	if r.http.Method != http.MethodOptions || asked.Get("Access-Control-Request-Method") == "" {
		return false, nil
	}
	if err := a.origins.Check(r.http); err != nil {
		return false, err
	}
	if origin == "" {
		return false, nil
	}
	preflight(header, asked["Access-Control-Request-Headers"])
	r.w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// preflight allows what routes take: their methods, and of the headers that
// are asked for those that reach a bridge or carry the key.
func preflight(h http.Header, asked []string) {
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Max-Age", preflightAge)
	if names := allowedNames(asked); len(names) > 0 {
		h.Set("Access-Control-Allow-Headers", strings.Join(names, ", "))
	}
	h.Set("Cache-Control", "no-store")
}

// allowedNames returns those of the header names that a page may send. The
// names of a tool's parameters are anybody's to choose, so that they are only
// known from what is asked.
func allowedNames(asked []string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Join(asked, ","), ",") {
		if len(names) == maxAskedHeaders {
			break
		}
		name = strings.Trim(name, " \t")
		if name = http.CanonicalHeaderKey(name); pageMaySend(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// pageMaySend reports whether a page may set the header of that canonical name.
func pageMaySend(name string) bool {
	switch name {
	case "Authorization", "X-Api-Key":
		return true
	case bridgeclient.HopsHeader, "User-Agent":
		return false // Bridges send the one, and no page may set the other.
	}
	return bridgeclient.Forwarded(name) && isToken(name)
}

// isToken reports whether name has only letters, digits and hyphens, as the
// names of all headers here.
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-'
	})
}
