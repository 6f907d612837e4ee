// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "testing"

func TestWhichURLsAreSafe(t *testing.T) {
	for text, want := range map[string]bool{
		"https://login.example.com":        true,
		"https://login.example.com/a?b=c":  true,
		"HTTPS://LOGIN.example.com:8443/a": true,
		"http://localhost:8080/a":          true,
		"http://127.0.0.1":                 true,
		"http://[::1]:80/":                 true,

		"":                               false,
		"login.example.com":              false,
		"https:///a":                     false,
		"https://:443/a":                 false,
		"http://login.example.com":       false,
		"http://localhost.example.com/":  false,
		"http://127.0.0.1.example.com/":  false,
		"http://10.0.0.1/":               false,
		"ftp://localhost/":               false,
		"https://me:canary@example.com/": false,
		"https://example.com/#a":         false,
		"https://[::1/":                  false,
	} {
		if u, ok := SafeURL(text); ok != want || ok && u == nil {
			t.Errorf("%q: %v, %v", text, u, ok)
		}
	}
}
