// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http/httptest"
	"testing"
)

func TestOriginCheck(t *testing.T) {
	const denied, misplaced = "origin_not_allowed", "host_not_allowed"
	app := []string{"https://app.example.com"}
	for _, tt := range []struct {
		name           string
		allowed, hosts []string
		host           string
		origin         []string
		want           string
	}{
		{"no origin", nil, nil, "anything.example", nil, ""},
		{"an allowed origin", app, nil, "api.example.com", []string{"https://app.example.com"}, ""},
		{"an allowed origin in upper case", app, nil, "api.example.com", []string{"https://APP.example.com"}, ""},
		{"an origin that begins like an allowed one", app, nil, "api.example.com", []string{"https://app.example.com.evil.example"}, denied},
		{"an allowed host under another scheme", app, nil, "api.example.com", []string{"http://app.example.com"}, denied},
		{"another origin", app, nil, "api.example.com", []string{"https://evil.example"}, denied},
		{"the null origin", app, nil, "api.example.com", []string{"null"}, denied},
		{"an empty origin", app, nil, "api.example.com", []string{""}, denied},
		{"two origins", app, nil, "api.example.com", []string{"https://app.example.com", "https://app.example.com"}, denied},
		{"our own address", nil, nil, "127.0.0.1:8080", []string{"http://127.0.0.1:8080"}, ""},
		{"our own IPv6 address", nil, nil, "[::1]:8080", []string{"http://[::1]:8080"}, ""},
		{"localhost", nil, nil, "localhost:8080", []string{"http://localhost:8080"}, ""},
		{"localhost on another port", nil, nil, "localhost:8080", []string{"http://localhost:3000"}, denied},
		{"a rebound name: Host and Origin agree", nil, nil, "evil.example", []string{"http://evil.example"}, denied},
		{"a name that only looks like localhost", nil, nil, "localhost.evil.example", []string{"http://localhost.evil.example"}, denied},
		{"our own name", nil, []string{"api.example.com"}, "api.example.com", []string{"https://api.example.com"}, ""},
		{"our own name with its scheme's port", nil, []string{"api.example.com"}, "api.example.com:443", []string{"https://api.example.com"}, ""},
		{"our own name on another port", nil, []string{"api.example.com"}, "api.example.com:8080", []string{"https://api.example.com:9090"}, denied},
		{"our own name with a path", nil, []string{"api.example.com"}, "api.example.com", []string{"https://api.example.com/"}, denied},
		{"another name where names are configured", nil, []string{"api.example.com"}, "evil.example", nil, misplaced},
		{"an address where names are configured", nil, []string{"api.example.com"}, "10.0.0.1", nil, misplaced},
		{"a configured name in upper case and with a port", nil, []string{"api.example.com"}, "API.example.com:8443", nil, ""},
		{"no Host where names are configured", nil, []string{"api.example.com"}, "", nil, misplaced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := NewOrigins(tt.allowed, tt.hosts)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("POST", "/u/alice/mcp", nil)
			r.Host = tt.host
			if tt.origin != nil {
				r.Header["Origin"] = tt.origin
			}
			got := ""
			if err := o.Check(r); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("check = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOriginConfigurationIsChecked(t *testing.T) {
	for _, origin := range []string{"app.example.com", "https://app.example.com/", "*", "https://", "https://u@x", "null"} {
		if _, err := NewOrigins([]string{origin}, nil); err == nil {
			t.Errorf("allowed origin %q was accepted", origin)
		}
	}
	for _, host := range []string{"", "https://x", "x:80", "x/y", "a b"} {
		if _, err := NewOrigins(nil, []string{host}); err == nil {
			t.Errorf("allowed host %q was accepted", host)
		}
	}
}
