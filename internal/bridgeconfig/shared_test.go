// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"strings"
	"testing"
)

func TestAnOriginHasOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"https://pay.example.com/mcp":           "https://pay.example.com",
		"HTTPS://PAY.example.com:443/x?y#z":     "https://pay.example.com",
		"http://pay.example.com:80":             "http://pay.example.com",
		"http://pay.example.com:443":            "http://pay.example.com:443",
		"https://pay.example.com:8443/":         "https://pay.example.com:8443",
		"https://[2001:DB8::1]:443/mcp":         "https://[2001:db8::1]",
		"https://me@pay.example.com":            "",
		"ftp://pay.example.com":                 "",
		"pay.example.com":                       "",
		"https://":                              "",
		"https://pay.example.com.evil.test/":    "https://pay.example.com.evil.test",
		"https://evil.test/@pay.example.com":    "https://evil.test",
		"https://evil.test#@pay.example.com":    "https://evil.test",
		"https://pay.example.com\x00.evil.test": "",
	} {
		if got := Origin(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestASharedServerHoldsItsOwnSecretsAtItsOrigin(t *testing.T) {
	own := Server{Name: "pay", URL: "https://pay.example.com/mcp", Secrets: []string{"PAY_TOKEN"}}
	if got := own.Held("PAY_TOKEN"); got != "PAY_TOKEN" || own.Credential() != "" {
		t.Errorf("a user's server holds %q as %q", got, own.Credential())
	}
	shared := own
	shared.Shared = "payments"
	if got := shared.Held("PAY_TOKEN"); got != SharedSecret("payments", "PAY_TOKEN", "https://pay.example.com") || shared.Credential() != "shared/payments" {
		t.Errorf("a shared server holds %q as %q", got, shared.Credential())
	}
	moved := shared
	moved.URL = "https://evil.test/mcp"
	if moved.Held("PAY_TOKEN") == shared.Held("PAY_TOKEN") {
		t.Error("a server at another origin finds the secret")
	}
	// No name that a user's server may use is one of a SharedServer's.
	own.Secrets = []string{shared.Held("PAY_TOKEN")}
	if err := own.validate(); err == nil {
		t.Error("a server of the user names a shared secret")
	}
	for name, tt := range map[string]struct {
		change func(*Server)
		says   string
	}{
		"as it is":  {func(*Server) {}, ""},
		"a name":    {func(s *Server) { s.Shared = "a/b" }, "is not the name of a SharedServer"},
		"a program": {func(s *Server) { s.Transport, s.URL, s.Program = Stdio, "", &Program{Command: []string{"x"}} }, "over HTTP"},
		"a login": {func(s *Server) {
			s.OAuth = &OAuth{Grant: ClientCredentials, TokenURL: "https://l/t", ClientID: "me", ClientSecret: "PAY_TOKEN"}
		}, "no oauth"},
	} {
		s := shared
		tt.change(&s)
		if err := s.validate(); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
