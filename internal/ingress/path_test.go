// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"regexp"
	"strings"
	"testing"
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
	"a trailing slash":                   "/u/alice/mcp/",
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
	"the SSE route, which is not served": "/u/alice/sse",
	"an asterisk":                        "*",
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

func TestCleanTargetAccepts(t *testing.T) {
	for target, want := range map[string]string{
		"/u/alice/mcp":                           "/u/alice/mcp",
		"/u/a/health":                            "/u/a/health",
		"/u/0-9/mcp":                             "/u/0-9/mcp",
		"/u/" + strings.Repeat("a", 63) + "/mcp": "/u/" + strings.Repeat("a", 63) + "/mcp",
		"/u/alice/mcp?":                          "/u/alice/mcp",
		"/u/alice/mcp?api_key=%00../u/bob/mcp":   "/u/alice/mcp",
		"/u/alice/health?x=1?y=2#z":              "/u/alice/health",
	} {
		if path, ok := cleanTarget(target); !ok || path != want {
			t.Errorf("cleanTarget(%q) = %q, %v, want %q", target, path, ok, want)
		}
	}
}

func FuzzCleanTarget(f *testing.F) {
	for _, target := range hostileTargets {
		f.Add(target)
	}
	f.Add("/u/alice/mcp?x")
	accepted := regexp.MustCompile(`^/u/[a-z0-9]([a-z0-9-]*[a-z0-9])?/(mcp|health)$`)
	f.Fuzz(func(t *testing.T, target string) {
		path, ok := cleanTarget(target)
		if ok != (path != "") {
			t.Fatalf("cleanTarget(%q) = %q, %v", target, path, ok)
		}
		if ok && (!accepted.MatchString(path) || !strings.HasPrefix(target, path)) {
			t.Errorf("cleanTarget(%q) = %q", target, path)
		}
	})
}
