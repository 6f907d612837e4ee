// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// remoteServer is an MCP server that wants a token, below the path /open one that
// wants none, and its own authorization server, which registers clients unless
// closed.
func remoteServer(t *testing.T, closed bool) string {
	t.Helper()
	var url string
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/bare", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{}") })
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"resource":"%[1]s/mcp","authorization_servers":["%[1]s/tenant"]}`, url)
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server/tenant", func(w http.ResponseWriter, _ *http.Request) {
		register := fmt.Sprintf(`"registration_endpoint":"%s/register",`, url)
		if closed {
			register = ""
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"issuer":"%[1]s/tenant","authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token",%[2]s
			"response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`, url, register)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	url = s.URL
	return url
}

func TestRemoteServersAreAskedAndJudged(t *testing.T) {
	open, closed := remoteServer(t, false), remoteServer(t, true)
	login := &recipe.TransportAuth{Type: "oauth2", GrantType: "authorization_code"}
	own := &recipe.TransportAuth{Type: "oauth2", GrantType: "authorization_code", ClientID: "${ID}"}
	token := &recipe.TransportAuth{Type: "bearer", Token: "${TOKEN}"}
	for name, tt := range map[string]struct {
		url  string
		auth *recipe.TransportAuth
		want string
	}{
		"a login that works":                     {open + "/mcp", login, "note " + open + "/mcp: tokens are of " + open + "/tenant"},
		"a login without registration":           {closed + "/mcp", login, "mend " + closed + "/mcp: bridge login cannot work: " + closed + "/tenant registers no clients"},
		"a client of the user's own":             {closed + "/mcp", own, "note " + closed + "/mcp: tokens are of"},
		"a server that names none":               {open + "/bare", login, "mend " + open + "/bare: bridge login cannot work: find the authorization server"},
		"a token in a header":                    {open + "/mcp", token, ""},
		"a server that wants what nobody gives":  {open + "/mcp", nil, "mend " + open + "/mcp: it wants credentials"},
		"a server that wants nothing":            {open + "/open", nil, ""},
		"a server that is gone":                  {open + "/elsewhere", token, "mend " + open + "/elsewhere: it answers 404"},
		"a server that nobody reaches from here": {"http://127.0.0.1:1/mcp", login, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := recipe.Recipe{ID: "one", Transports: []recipe.Transport{{Type: recipe.StreamableHTTP, URL: tt.url, Auth: tt.auth}}}
			r.Metadata.Sources, r.Metadata.Checked = []string{"https://example.com"}, recipe.CheckedRead
			var got []string
			for _, f := range judgeRemote(r, newProber().probeAll(t.Context(), []recipe.Recipe{r})["one"]) {
				got = append(got, f.kind()+" "+f.text)
			}
			if all := strings.Join(got, "\n"); !strings.HasPrefix(all, tt.want) || tt.want == "" && all != "" {
				t.Errorf("got %q, want %q", all, tt.want)
			}
		})
	}
	unsaid := recipe.Recipe{Transports: []recipe.Transport{{Type: recipe.SSE}}}
	if found := judgeRemote(unsaid, []remoteFacts{{transport: unsaid.Transports[0]}}); len(found) != 1 || !strings.Contains(found[0].text, "metadata.sources") {
		t.Errorf("found %+v", found)
	}
}

// TestTheCheckerReportsRemoteServers runs the whole command on a folder.
func TestTheCheckerReportsRemoteServers(t *testing.T) {
	url := remoteServer(t, true)
	folder := t.TempDir()
	write := func(id, url, auth string) {
		text := fmt.Sprintf(`{"schemaVersion":2,"id":%q,"name":"One","description":"One","repository":"https://example.com","recipeVersion":"1.0.0",
			"transports":[{"type":"streamable-http","url":%q,"auth":%s}],"auth":{"required":true,"type":"oauth2"},
			"metadata":{"lastVerified":"2026-11-21","selfHosted":true,"sources":["https://example.com"],"checked":"read"}}`, id, url, auth)
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(folder, id), 0o700), os.WriteFile(filepath.Join(folder, id, "recipe.json"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const login = `{"type":"oauth2","grantType":"authorization_code"}`
	write("one", url+"/mcp", login)
	write("away", "http://127.0.0.1:1/mcp", login)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--dir", folder}, &out, &out); !errors.Is(err, errFound) {
		t.Errorf("error %v: %s", err, &out)
	}
	for _, want := range []string{"one  ", "registers no clients", "1 of 2 remote servers did not answer"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
