// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"testing"
)

// FuzzCommonPath holds the short way against the expression that defines paths.
func FuzzCommonPath(f *testing.F) {
	for _, seed := range []string{
		"/u/alice/mcp", "/u/a/mcp", "/u/a-b-9/mcp", "/u/-a/mcp", "/u/a-/mcp", "/u//mcp", "/u/A/mcp", "/u/a/b/mcp", "/u/a/mcp/", "/u/a/sse", "/u/mcp",
		"/u/" + strings.Repeat("a", 63) + "/mcp", "/u/" + strings.Repeat("a", 64) + "/mcp", "/u/a%2f/mcp", "/u/a\x00/mcp", "/admin/users/a/keys", "/u/ü/mcp", "/u/a/mcp\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		want := len(path) <= maxPath && userPath.MatchString(path) && strings.HasSuffix(path, "/mcp")
		if got := isUserMCPPath(path); got != want {
			t.Errorf("isUserMCPPath(%q) = %v, want %v", path, got, want)
		}
	})
}
