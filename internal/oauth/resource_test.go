// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAResourceAndItsMetadata(t *testing.T) {
	tests := map[string]struct{ public, path, resource, metadata string }{
		"a user's":            {publicURL, "/u/alice/mcp", publicURL + "/u/alice/mcp", "/.well-known/oauth-protected-resource/u/alice/mcp"},
		"everyone's":          {publicURL, "/mcp", publicURL + "/mcp", "/.well-known/oauth-protected-resource/mcp"},
		"the root":            {publicURL, "/", publicURL + "/", "/.well-known/oauth-protected-resource"},
		"nothing":             {publicURL, "", publicURL, "/.well-known/oauth-protected-resource"},
		"a slash at the end":  {publicURL + "/", "/u/alice/sse", publicURL + "/u/alice/sse", "/.well-known/oauth-protected-resource/u/alice/sse"},
		"a port of a machine": {"http://127.0.0.1:8080", "/mcp", "http://127.0.0.1:8080/mcp", "/.well-known/oauth-protected-resource/mcp"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Resource(tt.public, tt.path); got != tt.resource {
				t.Errorf("the resource is %s", got)
			}
			if got := MetadataPath(tt.path); got != tt.metadata {
				t.Errorf("its metadata are at %s", got)
			}
		})
	}
}

func TestProtectedResource(t *testing.T) {
	got := ProtectedResource(resource, `Bridges of "Ada" & <Bob>`, []string{publicURL, theirs}, []string{ScopeRead, ScopeCall})
	var read oauthex.ProtectedResourceMetadata
	must.Succeed(t, json.Unmarshal(got, &read))
	want := oauthex.ProtectedResourceMetadata{
		Resource: resource, ResourceName: `Bridges of "Ada" & <Bob>`, AuthorizationServers: []string{publicURL, theirs},
		ScopesSupported: []string{"mcp:read", "mcp:call"}, BearerMethodsSupported: []string{"header"},
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const least = `{"resource":"https://bridges.example.com/u/alice/mcp","authorization_servers":["https://bridges.example.com"],"bearer_methods_supported":["header"]}`
	if got := string(ProtectedResource(resource, "", []string{publicURL}, nil)); got != least {
		t.Errorf("without a name and scopes it is %s", got)
	}
}

func TestChallenge(t *testing.T) {
	const metadata = publicURL + "/.well-known/oauth-protected-resource/u/alice/mcp"
	tests := map[string]struct {
		code, description string
		scopes            []string
		want              map[string]string
	}{
		"a request without a token": {"", "", []string{ScopeRead, ScopeCall}, map[string]string{"scope": "mcp:read mcp:call"}},
		"a token that has expired":  {"invalid_token", "the access token has expired", nil, map[string]string{"error": "invalid_token", "error_description": "the access token has expired"}},
		"a token that allows less":  {"insufficient_scope", "", []string{ScopeCall}, map[string]string{"error": "insufficient_scope", "scope": "mcp:call"}},
		"what would end a quote":    {"", `say "no", \ or so`, nil, map[string]string{"error_description": "say 'no', ? or so"}},
		"what would end the header": {"", "a\r\nSet-Cookie: b=c\x00\x7f", nil, map[string]string{"error_description": "a??Set-Cookie: b=c??"}},
		"letters of other kinds":    {"", "pâté", nil, map[string]string{"error_description": "p?t?"}},
		"what would be another one": {"", `x", Basic realm="y`, nil, map[string]string{"error_description": "x', Basic realm='y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Challenge(metadata, tt.code, tt.description, tt.scopes)
			read := must.Value(oauthex.ParseWWWAuthenticate([]string{got}))(t)
			tt.want["resource_metadata"] = metadata
			if diff := cmp.Diff([]oauthex.Challenge{{Scheme: "bearer", Params: tt.want}}, read); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got, diff)
			}
		})
	}
	if got := Challenge("", "", "", nil); got != "Bearer" {
		t.Errorf("with nothing it is %q", got)
	}
	if got := Challenge(metadata, "invalid_token", "", nil); got != `Bearer error="invalid_token", resource_metadata="`+metadata+`"` {
		t.Errorf("got %s", got)
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add("invalid_token", "the access token has expired")
	f.Add(`"`, "\\\r\n\"")
	f.Fuzz(func(t *testing.T, code, description string) {
		got := Challenge(publicURL, code, description, nil)
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
			t.Errorf("%q has characters that a header must not have", got)
		}
		read, err := oauthex.ParseWWWAuthenticate([]string{got})
		if err != nil || len(read) != 1 || read[0].Params["resource_metadata"] != publicURL {
			t.Errorf("%q is read as %v, %v", got, read, err)
		}
	})
}
