// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// acceptOfBrowser is what a browser accepts where it opens a page.
const acceptOfBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestABrowserOverTheRateSeesAPage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newAdminWorld(t, func(f *httpapi.Feature) { f.SourceRate, f.TooManyFromSource = 1, problems.TooManyLogins })
		get := func(path, accept string) reply {
			r := w.request(http.MethodGet, path, "", "")
			r.Header.Set("Accept", accept)
			return w.do(r)
		}
		for path, first := range map[string]string{"/login": "/", "/console/login": "/console"} {
			for range limits.RateBurst {
				if got := get(path, acceptOfBrowser); got.status != http.StatusOK {
					t.Fatalf("%s within the burst: %d %s", path, got.status, got.body)
				}
			}
			for accept, isPage := range map[string]bool{
				acceptOfBrowser: true, "application/json, TEXT/HTML;q=0.5": true,
				"": false, "*/*": false, "application/json": false, "text/css,*/*;q=0.1": false, "text/htmlx": false,
			} {
				got := get(path, accept)
				if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || got.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s for %q: %d %v", path, accept, got.status, got.header)
				}
				if !isPage {
					if got.header.Get("Content-Type") != httpapi.ContentType || got.code(t) != "too_many_requests" {
						t.Errorf("%s for %q: %s", path, accept, got.body)
					}
					continue
				}
				for _, want := range []string{"<h1>Too many requests</h1>", "Wait a few seconds", `<link rel="stylesheet" href="/static/style-`, `href="` + first + `"`, "ask@example.com"} {
					if !strings.Contains(got.body, want) {
						t.Errorf("%s for %q has no %s: %s", path, accept, want, got.body)
					}
				}
				if got.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
					t.Errorf("%s for %q: %v", path, accept, got.header)
				}
			}
		}
		// The rate is over, so that a page would cost more than the answer of programs.
		for _, path := range []string{"/u/alice/secrets", "/u/alice/mcp", "/admin/users"} {
			if got := get(path, acceptOfBrowser); got.status != http.StatusUnauthorized || strings.Contains(got.header.Get("Content-Type"), "html") {
				t.Errorf("the API at %s: %d %s", path, got.status, got.body)
			}
		}
	})
}
