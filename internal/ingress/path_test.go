// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
)

// hostileTargets are request targets that must reach nobody. Most of them gave
// another user, an empty user or another route to a router that decodes,
// cleans or rewrites.
var hostileTargets = map[string]string{
	"an encoded dot segment":             "/u/%2e%2e/admin/publishers",
	"an encoded slash":                   "/u/alice%2f..%2fbob/mcp",
	"a dot segment":                      "/u/alice/../bob/mcp",
	"a single dot":                       "/u/./alice/mcp",
	"an empty segment":                   "/u//alice/mcp",
	"two leading slashes":                "//u/alice/mcp",
	"an encoded NUL":                     "/u/alice%00/mcp",
	"a matrix parameter":                 "/u/alice;x=1/mcp",
	"an encoded question mark":           "/u/alice%3Fq/mcp",
	"an encoded letter":                  "/u/%61lice/mcp",
	"the absolute form":                  "http://other/u/alice/mcp",
	"the absolute form of our own":       "http://localhost/u/alice/mcp",
	"a backslash":                        `/u/alice\..\bob/mcp`,
	"an encoded backslash":               "/u/alice%5c..%5cbob/mcp",
	"a double encoding":                  "/u/%252e%252e/bob/mcp",
	"an overlong encoding":               "/u/%c0%ae%c0%ae/bob/mcp",
	"upper case":                         "/u/Alice/mcp",
	"an upper case route":                "/u/alice/MCP",
	"two trailing slashes":               "/u/alice/mcp//",
	"an encoded trailing slash":          "/u/alice/mcp%2f",
	"a trailing slash of no user":        "/u//mcp/",
	"a longer path":                      "/u/alice/mcp/../../bob/mcp",
	"a second route":                     "/u/alice/mcp/health",
	"no route":                           "/u/alice",
	"no user":                            "/u//mcp",
	"a fragment":                         "/u/alice/mcp#/u/bob/mcp",
	"an encoded fragment":                "/u/alice%23/mcp",
	"an encoded newline":                 "/u/alice/mcp%0d%0aX-User:bob",
	"a user id that begins with a dash":  "/u/-alice/mcp",
	"a user id that ends with a dash":    "/u/alice-/mcp",
	"a user id of 64 letters":            "/u/" + strings.Repeat("a", 64) + "/mcp",
	"a very long target":                 "/u/" + strings.Repeat("a", 4000) + "/mcp",
	"a user id beyond ASCII":             "/u/аlice/mcp",
	"an underscore":                      "/u/al_ice/mcp",
	"a dot":                              "/u/al.ice/mcp",
	"another prefix":                     "/x/u/alice/mcp",
	"the root":                           "/",
	"the probes":                         "/healthz",
	"the metrics":                        "/metrics",
	"a route of another surface":         "/admin/publishers",
	"an asterisk":                        "*",
	"SSE with a trailing slash":          "/u/alice/sse/",
	"SSE with a trailing slash and more": "/u/alice/sse/?sessionid=a",
	"SSE in upper case":                  "/u/alice/SSE",
	"SSE of no user":                     "/u//sse?sessionid=a",
	"a name below SSE":                   "/u/alice/sse/TOKEN",
	"an encoded SSE":                     "/u/alice/s%73e",
	"an encoded question mark after SSE": "/u/alice/sse%3Fsessionid=a",
	"a matrix parameter of SSE":          "/u/alice/sse;sessionid=a",
	"a dot segment after SSE":            "/u/alice/sse/../../bob/sse?sessionid=a",
	"the absolute form of SSE":           "http://x/u/alice/sse?sessionid=a",

	"secrets with a trailing slash":            "/u/alice/secrets/",
	"secrets in upper case":                    "/u/alice/SECRETS",
	"secrets of no user":                       "/u//secrets/TOKEN",
	"a secret with a trailing slash":           "/u/alice/secrets/TOKEN/",
	"a secret below a secret":                  "/u/alice/secrets/TOKEN/TOKEN",
	"two slashes before a secret":              "/u/alice/secrets//TOKEN",
	"a secret's name of one dot":               "/u/alice/secrets/.",
	"a secret's name of two dots":              "/u/alice/secrets/..",
	"a dot segment after secrets":              "/u/alice/secrets/../../bob/secrets/TOKEN",
	"a dot segment that ends as a user's path": "/u/alice/secrets/TOKEN/../../../bob/mcp",
	"a secret's name that begins with a dot":   "/u/alice/secrets/.index",
	"a secret's name that ends with a dot":     "/u/alice/secrets/credentials.",
	"two dots in a secret's name":              "/u/alice/secrets/a..b",
	"an encoded secret's name":                 "/u/alice/secrets/%54OKEN",
	"an encoded slash in a secret's name":      "/u/alice/secrets/a.b%2f..%2fTOKEN",
	"an encoded dot in a secret's name":        "/u/alice/secrets/a%2eb",
	"an encoded NUL in a secret's name":        "/u/alice/secrets/TOKEN%00.json",
	"an encoded newline in a secret's name":    "/u/alice/secrets/TOKEN%0aTOKEN",
	"a secret's name with a plus":              "/u/alice/secrets/a+b.json",
	"a secret's name with a backslash":         `/u/alice/secrets/a.b\..\TOKEN`,
	"a secret's name with a semicolon":         "/u/alice/secrets/TOKEN;x=1",
	"a secret's name with a colon":             "/u/alice/secrets/a.b:c",
	"a secret's name beyond ASCII":             "/u/alice/secrets/TОKEN",
	"a fragment after a secret":                "/u/alice/secrets/TOKEN#x",
	"a secret's name of 81 letters":            "/u/alice/secrets/" + strings.Repeat("A", 81),
	"a secret's name of 81 of user secrets":    "/u/secrets/secrets/" + strings.Repeat("A", 81),
	"a name below health":                      "/u/alice/health/TOKEN",
	"a name below mcp":                         "/u/alice/mcp/TOKEN",
	"the absolute form of a secret":            "http://x/u/alice/secrets/TOKEN",

	"admin alone":                        "/admin",
	"admin with a slash":                 "/admin/",
	"users with a slash":                 "/admin/users/",
	"a user with a slash":                "/admin/users/alice/",
	"keys of no user":                    "/admin/users//keys",
	"keys with a trailing slash":         "/admin/users/alice/keys/",
	"a user that is none":                "/admin/users/Alice/keys",
	"a dot segment before keys":          "/admin/users/alice/../bob/keys",
	"an encoded user of keys":            "/admin/users/%61lice/keys",
	"an encoded slash in a user of keys": "/admin/users/alice%2fkeys/keys",
	"a key's id that is too short":       "/admin/users/alice/keys/1234567",
	"a key's id of 33 letters":           "/admin/users/alice/keys/" + strings.Repeat("a", 33),
	"a key's id with a dash":             "/admin/users/alice/keys/abcd-efgh",
	"a whole key":                        "/admin/users/alice/keys/hb_abcdefghijkl_abcdefghijklmnopqrstuvwxyz12",
	"a path below a key":                 "/admin/users/alice/keys/abcdefghijkl/x",
	"a path below audit":                 "/admin/audit/x",
	"audit with a slash":                 "/admin/audit/",
	"a path below analytics":             "/admin/analytics/x",
	"analytics encoded":                  "/admin/%61nalytics",
	"upper case admin":                   "/Admin/audit",
	"admin behind a user":                "/u/alice/admin/audit",
	"a user behind admin":                "/admin/u/alice/mcp",
	"two slashes before audit":           "/admin//audit",
	"a matrix parameter of audit":        "/admin/audit;x=1",
	"the absolute form of audit":         "http://x/admin/audit",
	"an encoded admin":                   "/%61dmin/audit",
	"a dot segment from a user to admin": "/u/alice/mcp/../../../admin/audit",
}

func TestCleanTargetRefuses(t *testing.T) {
	for name, target := range hostileTargets {
		t.Run(name, func(t *testing.T) {
			if path, ok := cleanTarget(target); ok {
				t.Errorf("cleanTarget(%q) = %q, want none", target, path)
			}
		})
	}
}

// The longest paths there are.
var (
	longestPath = "/u/" + strings.Repeat("a", 63) + "/secrets/" + strings.Repeat("A", 80)
	longestOdd  = "/u/secrets/secrets/" + strings.Repeat("A", 80)
	longestFile = "/u/" + strings.Repeat("a", 63) + "/secrets/" + strings.Repeat("a", 75) + ".json"
)

func TestCleanTargetAccepts(t *testing.T) {
	for target, want := range map[string]string{
		"/u/alice/mcp":                           "/u/alice/mcp",
		"/u/a/health":                            "/u/a/health",
		"/u/0-9/mcp":                             "/u/0-9/mcp",
		"/u/" + strings.Repeat("a", 63) + "/mcp": "/u/" + strings.Repeat("a", 63) + "/mcp",
		"/u/alice/mcp?":                          "/u/alice/mcp",
		"/u/alice/mcp/":                          "/u/alice/mcp",
		"/u/alice/mcp/?x=/u/bob/mcp":             "/u/alice/mcp",
		"/mcp/":                                  "/mcp",
		"/u/alice/mcp?api_key=%00../u/bob/mcp":   "/u/alice/mcp",
		"/u/alice/health?x=1?y=2#z":              "/u/alice/health",
		"/u/alice/sse":                           "/u/alice/sse",
		"/u/alice/sse?sessionid=../u/bob":        "/u/alice/sse",
		"/u/sse/sse":                             "/u/sse/sse",
		"/u/alice/secrets":                       "/u/alice/secrets",
		"/u/alice/secrets?x=/TOKEN":              "/u/alice/secrets",
		"/u/secrets/secrets/SECRETS":             "/u/secrets/secrets/SECRETS",
		"/u/alice/secrets/T":                     "/u/alice/secrets/T",
		"/u/alice/secrets/GITHUB_TOKEN_2":        "/u/alice/secrets/GITHUB_TOKEN_2",
		"/u/alice/secrets/credentials.json?a":    "/u/alice/secrets/credentials.json",
		"/u/alice/secrets/-a_B.9.tar":            "/u/alice/secrets/-a_B.9.tar",
		"/u/alice/secrets/no-name":               "/u/alice/secrets/no-name",
		longestPath:                              longestPath,
		"/admin/audit":                           "/admin/audit",
		"/admin/audit?userId=alice":              "/admin/audit",
		"/admin/analytics?step=day":              "/admin/analytics",
		"/admin/problems":                        "/admin/problems",
		"/admin/users?phase=Failed":              "/admin/users",
		"/admin/users/alice":                     "/admin/users/alice",
		"/admin/users/alice/keys":                "/admin/users/alice/keys",
		"/admin/users/audit/keys?x":              "/admin/users/audit/keys",
		"/admin/users/alice/keys/abcdefghijkl":   "/admin/users/alice/keys/abcdefghijkl",
		longestOdd:                               longestOdd,
		longestFile:                              longestFile,
	} {
		if path, ok := cleanTarget(target); !ok || path != want {
			t.Errorf("cleanTarget(%q) = %q, %v, want %q", target, path, ok, want)
		}
	}
}

func TestWhichQueriesPass(t *testing.T) {
	longest := "sessionid=" + strings.Repeat("a", 4096)
	for _, test := range []struct {
		name, target, path, query string
		malformed                 bool
	}{
		{"none", "/u/alice/sse", "/u/alice/sse", "", false},
		{"an empty one", "/u/alice/sse?", "/u/alice/sse", "", false},
		{"a session", "/u/alice/sse?sessionid=aZ0_.-", "/u/alice/sse", "sessionid=aZ0_.-", false},
		{"the longest session", "/u/alice/sse?" + longest, "/u/alice/sse", longest, false},
		{"a longer session", "/u/alice/sse?" + longest + "a", "/u/alice/sse", "", true},
		{"a session of another route", "/u/alice/mcp?sessionid=a", "/u/alice/mcp", "", false},
		{"a session of a user of that name", "/u/sse/mcp?sessionid=a", "/u/sse/mcp", "", false},
		{"an empty session", "/u/alice/sse?sessionid=", "/u/alice/sse", "", true},
		{"two sessions", "/u/alice/sse?sessionid=a&sessionid=b", "/u/alice/sse", "", true},
		{"another parameter", "/u/alice/sse?sessionid=a&api_key=b", "/u/alice/sse", "", true},
		{"another parameter before", "/u/alice/sse?api_key=b&sessionid=a", "/u/alice/sse", "", true},
		{"two questions", "/u/alice/sse??sessionid=a", "/u/alice/sse", "", true},
		{"a question in a session", "/u/alice/sse?sessionid=a?b", "/u/alice/sse", "", true},
		{"a parameter after a semicolon", "/u/alice/sse?sessionid=a;x=b", "/u/alice/sse", "", true},
		{"a fragment", "/u/alice/sse?sessionid=a#b", "/u/alice/sse", "", true},
		{"an encoded session", "/u/alice/sse?sessionid=%61", "/u/alice/sse", "", true},
		{"an encoded newline", "/u/alice/sse?sessionid=a%0d%0aX:y", "/u/alice/sse", "", true},
		{"a newline", "/u/alice/sse?sessionid=a\n", "/u/alice/sse", "", true},
		{"a slash", "/u/alice/sse?sessionid=a/../../bob", "/u/alice/sse", "", true},
		{"a session beyond ASCII", "/u/alice/sse?sessionid=а", "/u/alice/sse", "", true},
		{"a query for entries", "/admin/audit?userId=alice&tool=a%2Fb+c&to=2026-03-01T00:00:00Z", "/admin/audit", "userId=alice&tool=a%2Fb+c&to=2026-03-01T00:00:00Z", false},
		{"an empty query for entries", "/admin/audit?", "/admin/audit", "", false},
		{"a query for analytics", "/admin/analytics?from=2026-03-01T00:00:00%2B01:00&step=day", "/admin/analytics", "from=2026-03-01T00:00:00%2B01:00&step=day", false},
		{"a query for analytics with a semicolon", "/admin/analytics?step=day;x", "/admin/analytics", "", true},
		{"an empty value", "/admin/audit?tool=", "/admin/audit", "tool=", false},
		{"a query for entries of two questions", "/admin/audit??tool=a", "/admin/audit", "", true},
		{"a query for entries with a semicolon", "/admin/audit?tool=a;b", "/admin/audit", "", true},
		{"a query for entries with a bad escape", "/admin/audit?tool=%0", "/admin/audit", "", true},
		{"a query for entries with a newline", "/admin/audit?tool=a\n", "/admin/audit", "", true},
		{"a query for entries that is too long", "/admin/audit?tool=" + strings.Repeat("a", 2048), "/admin/audit", "", true},
		{"a name without a value", "/admin/audit?tool", "/admin/audit", "", true},
		{"an encoded name", "/admin/audit?%74ool=a", "/admin/audit", "", true},
		{"a query of keys", "/admin/users/alice/keys?api_key=x", "/admin/users/alice/keys", "", false},
		{"a query of a user named audit", "/admin/users/audit/keys?tool=a", "/admin/users/audit/keys", "", false},
		{"upper case", "/u/alice/sse?sessionID=a", "/u/alice/sse", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, ok := cleanTarget(test.target)
			if !ok || path != test.path {
				t.Fatalf("path %q, %v", path, ok)
			}
			if query, malformed := queryOf(test.target, path); query != test.query || malformed != test.malformed {
				t.Errorf("query %q, malformed %v", query, malformed)
			}
		})
	}
}

func FuzzCleanTarget(f *testing.F) {
	for _, target := range hostileTargets {
		f.Add(target)
	}
	for _, target := range []string{"/u/alice/sse", "/u/alice/sse?sessionid=a", "/u/alice/sse?sessionid=a&b", "/u/alice/mcp?x", "/admin/audit?userId=a&tool=%2F", "/admin/analytics?step=day", "/admin/users/a/keys/abcdefgh", "/u/alice/secrets", "/u/alice/secrets/TOKEN", "/u/alice/secrets/a.json", longestPath, longestFile, longestOdd} {
		f.Add(target)
	}
	// Written otherwise than what is tested.
	accepted := regexp.MustCompile(`^/(u/[a-z0-9]([a-z0-9-]*[a-z0-9])?/(mcp|sse|health|secrets(/[\w-]+(\.[\w-]+)*)?)|admin/(audit|analytics|users/[a-z0-9]([a-z0-9-]*[a-z0-9])?/keys(/[0-9A-Za-z]{8,32})?))$`)
	f.Fuzz(func(t *testing.T, target string) {
		path, ok := cleanTarget(target)
		if ok != (path != "") {
			t.Fatalf("cleanTarget(%q) = %q, %v", target, path, ok)
		}
		if ok && (!accepted.MatchString(path) || !strings.HasPrefix(target, path)) {
			t.Errorf("cleanTarget(%q) = %q", target, path)
		}
		if ok {
			query, _ := queryOf(target, path)
			if path == "/admin/audit" || path == "/admin/analytics" {
				if target[len(path):] != "" && query != "" && (target != path+"?"+query || strings.ContainsAny(query, ";?#/ \r\n\\")) {
					t.Errorf("queryOf(%q) = %q", target, query)
				}
				query = ""
			}
			if query != "" && (target != path+"?"+query || !strings.HasSuffix(path, "/sse") || strings.ContainsAny(query, "%&;?#/ \r\n") || strings.Count(query, "=") != 1) {
				t.Errorf("queryOf(%q) = %q", target, query)
			}
		}
		if _, secret, _ := strings.Cut(strings.TrimPrefix(path, "/u/secrets"), "/secrets/"); len(secret) > 80 || strings.HasPrefix(secret, ".") || strings.Contains(secret, "..") {
			t.Errorf("cleanTarget(%q) lets the secret %q in", target, secret)
		}
	})
}

// allPaths is a surface of all paths.
var allPaths = sync.OnceValue(func() *paths {
	return &paths{features: newFeatures([]httpapi.Feature{management.Health(nil, nil), management.Secrets(nil), management.Admin(management.AdminOptions{})})}
})

// cleanTarget returns the path of a raw request target, and whether it is one of the
// surface.
func cleanTarget(target string) (path string, ok bool) {
	path, _, _, ok = allPaths().target(target)
	return path, ok
}

// queryOf returns the query of a target that passes, and whether it is malformed.
func queryOf(target, _ string) (query string, malformed bool) {
	_, query, malformed, _ = allPaths().target(target)
	return query, malformed
}
