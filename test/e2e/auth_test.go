// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestNobodyLearnsWhoIsAUser compares every refusal on a user's URL with the
// one on the URL of a user who does not exist: they are the same bytes.
func TestNobodyLearnsWhoIsAUser(t *testing.T) {
	t.Parallel()
	trent := newTenant(t, "trent", "everything")
	oscar := newTenant(t, "oscar", "everything")
	unknown := mint(t).secret
	credentials := []struct{ name, key string }{
		{"no key", ""},
		{"something that is no key", "open-sesame"},
		{"a mistyped key", trent.key.secret[:len(trent.key.secret)-1] + other(trent.key.secret)},
		{"a well-formed key that nobody has", unknown},
		{"another user's key", oscar.key.secret},
	}
	requests := []struct {
		name, path string
		request    request
	}{
		{"the first request of the legacy era", "mcp", legacyFirst},
		{"the first request of the modern era", "mcp", modernFirst},
		{"a tool call of the modern era", "mcp", modernCall},
		{"a request that is no JSON", "mcp", post("{", nil)},
		{"the legacy stream", "mcp", request{method: http.MethodGet, header: map[string]string{"Accept": "text/event-stream"}}},
		{"the end of a legacy session", "mcp", request{method: http.MethodDelete, header: map[string]string{"Mcp-Session-Id": "x"}}},
		{"health", "health", request{method: http.MethodGet}},
	}
	client := newHTTPClient(false)
	for _, c := range credentials {
		for _, r := range requests {
			t.Run(c.name+" on "+r.name, func(t *testing.T) {
				ask := func(user string) answer {
					return must.Value(send(t.Context(), client, installed.url+"/u/"+user+"/"+r.path, c.key, r.request))(t)
				}
				zelda := installed.name("zelda")
				known, absent := ask(trent.name), ask(zelda)
				// What was asked for is in the answer, as it was asked for.
				if diff := cmp.Diff(strings.ReplaceAll(absent.bytes(), zelda, "USER"), strings.ReplaceAll(known.bytes(), trent.name, "USER")); diff != "" {
					t.Errorf("a user is told from no user (-absent +known):\n%s", diff)
				}
				if err := isChallenge(known, c.key, trent.url()); err != nil {
					t.Error(err)
				}
				if strings.Contains(string(known.body), trent.name) {
					t.Errorf("the answer names the user: %s", known.body)
				}
			})
		}
	}
	for _, era := range eras {
		t.Run("the inspector is refused in the "+era+" era", func(t *testing.T) {
			for _, key := range []string{"", mint(t).secret} {
				_, err := inspectorTools(t, era, trent.url(), key)
				if err == nil || !strings.Contains(err.Error(), "auth_required") {
					t.Errorf("without trent's key the inspector says %v, want auth_required", err)
				}
			}
			if _, err := inspectorTools(t, era, trent.url(), oscar.key.secret); err == nil {
				t.Error("with oscar's key the inspector lists trent's tools")
			}
		})
	}
	t.Run("trent's own key still opens the bridge", func(t *testing.T) {
		if err := callTool(t.Context(), client, trent.url(), trent.key.secret); err != nil {
			t.Error(err)
		}
	})
}

// isChallenge returns nil where the answer is a 401 with what RFC 6750 wants beside it.
func isChallenge(a answer, key, resource string) error {
	if key == "" {
		return a.challenged(http.StatusUnauthorized, "", resource)
	}
	return a.challenged(http.StatusUnauthorized, "invalid_token", resource)
}

// other returns a last character that is not the key's, so that its checksum
// is wrong.
func other(key string) string {
	if strings.HasSuffix(key, "0") {
		return "1"
	}
	return "0"
}
