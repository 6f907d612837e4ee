// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
)

// TestAnInstallationWithKeysAloneSaysSoWhereClientsLookForLogins has the requests by which the
// SDK, Claude Code, Codex and others look for logins, and register.
func TestAnInstallationWithKeysAloneSaysSoWhereClientsLookForLogins(t *testing.T) {
	w := newWorldWith(t, defaults(), func(d *Deps) {
		d.Features = append(d.Features, management.KeysAlone("Ask ann@example.com for a key."))
	})
	if got := w.do(w.request(http.MethodPost, "/u/alice/mcp", "", toolCall)); got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != `Bearer realm="hosted-bridge"` {
		t.Errorf("a call without a key: %d %v", got.status, got.header)
	}
	const metadata, registration = http.StatusNotFound, http.StatusBadRequest
	for path, status := range map[string]int{
		"/.well-known/oauth-protected-resource":               metadata,
		"/.well-known/oauth-protected-resource/mcp":           metadata,
		"/.well-known/oauth-protected-resource/u/alice/mcp":   metadata,
		"/.well-known/oauth-authorization-server":             metadata,
		"/.well-known/oauth-authorization-server/u/alice/mcp": metadata,
		"/.well-known/openid-configuration":                   metadata,
		"/.well-known/openid-configuration/u/alice/mcp":       metadata,
		"/register":       registration,
		"/oauth/register": registration,
		"/token":          registration,
		"/oauth/token":    registration,
	} {
		method, body := http.MethodGet, ""
		if status == registration {
			method, body = http.MethodPost, `{"client_name":"a client","redirect_uris":["http://127.0.0.1:1/callback"]}`
		}
		r := w.request(method, path, "", body)
		r.Header.Set("Origin", "https://inspector.example.com") // Clients in pages look too.
		got := w.do(r)
		var said struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		err := json.Unmarshal([]byte(got.body), &said)
		if got.status != status || err != nil || said.Error != "access_denied" || !strings.HasSuffix(said.Description, " Ask ann@example.com for a key.") {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
		if got.header.Get("Content-Type") != "application/json" || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: %v", method, path, got.header)
		}
		// Claude Code hides the word after "Bearer " and "Authorization: ".
		if strings.Contains(said.Description, "Bearer ") || strings.Contains(said.Description, "Authorization:") {
			t.Errorf("clients hide a part of %q", said.Description)
		}
	}
}
