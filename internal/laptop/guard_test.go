// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCheckListen(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:3100": true, "[::1]:0": true, "localhost:80": true, "127.8.8.8:1": true,
		":3100": false, "0.0.0.0:3100": false, "[::]:3100": false, "192.168.0.2:3100": false, "example.com:1": false, "3100": false, "": false,
	} {
		if err := CheckListen(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestWebsitesDoNotReachTheBridge holds both ways in which they could: a script
// that sends its Origin, and a name of theirs that leads to this machine.
func TestWebsitesDoNotReachTheBridge(t *testing.T) {
	tests := map[string]struct {
		host   string
		origin []string
		path   string
		want   string // the path that is served; empty for a refusal
	}{
		"a program":                     {"127.0.0.1:3100", nil, "/mcp", "/u/local/mcp"},
		"a program with a slash":        {"127.0.0.1:3100", nil, "/mcp/", "/u/local/mcp"},
		"a program by the name":         {"localhost:3100", nil, "/sse", "/u/local/sse"},
		"a program by IPv6":             {"[::1]:3100", nil, "/u/local/mcp", "/u/local/mcp"},
		"without a port":                {"localhost", nil, "/health", "/health"},
		"an inspector on this machine":  {"localhost:3100", []string{"http://localhost:6274"}, "/mcp", "/u/local/mcp"},
		"a website that may":            {"localhost:3100", []string{"https://app.example.com"}, "/mcp", "/u/local/mcp"},
		"a website":                     {"localhost:3100", []string{"https://evil.example.com"}, "/mcp", ""},
		"a website called like us":      {"localhost:3100", []string{"https://localhost.evil.example.com"}, "/mcp", ""},
		"another port of one that may":  {"localhost:3100", []string{"https://app.example.com:8443"}, "/mcp", ""},
		"a page without an origin":      {"localhost:3100", []string{"null"}, "/mcp", ""},
		"two origins":                   {"localhost:3100", []string{"http://localhost", "https://evil.example.com"}, "/mcp", ""},
		"a name that leads here":        {"evil.example.com:3100", nil, "/mcp", ""},
		"an address that leads here":    {"192.168.0.2:3100", nil, "/mcp", ""},
		"a name that begins like ours":  {"127.0.0.1.evil.example.com", nil, "/mcp", ""},
		"no name":                       {"", nil, "/mcp", ""},
		"another machine's own program": {"0.0.0.0:3100", nil, "/mcp", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			served := ""
			h := Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { served = r.URL.Path }), []string{"https://app.example.com"})
			r := httptest.NewRequest(http.MethodPost, tt.path, nil)
			r.Host = tt.host
			for _, o := range tt.origin {
				r.Header.Add("Origin", o)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if served != tt.want || (w.Code == http.StatusForbidden) != (tt.want == "") {
				t.Errorf("served %q, status %d", served, w.Code)
			}
		})
	}
}

// TestAWebsiteThatMayIsToldSo holds what a browser asks before it sends a
// script's request, and what it wants to see before the script reads the answer.
func TestAWebsiteThatMayIsToldSo(t *testing.T) {
	for name, tt := range map[string]struct {
		method, origin string
		status         int
		allowed        string
		served         bool
	}{
		"a preflight":                           {http.MethodOptions, "https://app.example.com", http.StatusNoContent, "https://app.example.com", false},
		"a request":                             {http.MethodPost, "https://app.example.com", http.StatusOK, "https://app.example.com", true},
		"a preflight of this machine":           {http.MethodOptions, "http://localhost:6274", http.StatusNoContent, "http://localhost:6274", false},
		"a preflight of a website that may not": {http.MethodOptions, "https://evil.example.com", http.StatusForbidden, "", false},
		"a program":                             {http.MethodPost, "", http.StatusOK, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			served := false
			h := Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }), []string{"https://app.example.com"})
			r := httptest.NewRequest(tt.method, "http://localhost:3100/mcp", nil)
			r.Header.Set("Access-Control-Request-Method", http.MethodPost)
			r.Header.Set("Access-Control-Request-Headers", "content-type,mcp-session-id")
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header()
			if w.Code != tt.status || served != tt.served || got.Get("Access-Control-Allow-Origin") != tt.allowed {
				t.Errorf("status %d, served %v, headers %v", w.Code, served, got)
			}
			if tt.allowed != "" && (got.Get("Access-Control-Expose-Headers") != "Mcp-Session-Id" || got.Get("Vary") == "") {
				t.Errorf("headers %v", got)
			}
			if preflight := tt.status == http.StatusNoContent; preflight != (got.Get("Access-Control-Allow-Headers") == "content-type,mcp-session-id") || preflight != (got.Get("Access-Control-Allow-Methods") != "") {
				t.Errorf("headers %v", got)
			}
		})
	}
}
