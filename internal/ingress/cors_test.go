// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const app = "https://app.example.com"

// corsHeader returns the part of an answer's header that browsers go by.
func corsHeader(h http.Header) map[string]string {
	part := map[string]string{}
	for name, values := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			part[name] = strings.Join(values, ", ")
		}
	}
	return part
}

func TestPagesOfConfiguredOriginsMayCall(t *testing.T) {
	config := defaults()
	config.AllowedOrigins = []string{app, "https://other.example.com"}
	w, alice := oneUser(t, config, func(rw http.ResponseWriter, _ *http.Request) {
		// A tenant's bridge has no say in it.
		rw.Header().Set("Access-Control-Allow-Origin", "*")
		rw.Header().Set("Access-Control-Allow-Credentials", "true")
		rw.Header().Set("Vary", "*")
	})
	seen := map[string]string{"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposedHeaders, "Vary": "Origin"}
	hidden := map[string]string{"Vary": "Origin"}
	for _, tt := range []struct {
		name, method, path, key, origin string
		status                          int
		want                            map[string]string
	}{
		{"a call", "POST", "/u/alice/mcp", alice, app, 200, seen},
		{"a stream", "GET", "/u/alice/mcp", alice, app, 200, seen},
		{"a refusal can be read", "POST", "/u/alice/mcp", "", app, 401, seen},
		{"another user's", "POST", "/u/bob/mcp", alice, app, 401, seen},
		{"another method", "PATCH", "/u/alice/mcp", alice, app, 405, seen},
		{"another origin", "POST", "/u/alice/mcp", alice, "https://evil.example", 403, hidden},
		{"the null origin", "POST", "/u/alice/mcp", alice, "null", 403, hidden},
		{"a program", "POST", "/u/alice/mcp", alice, "", 200, hidden},
		{"another path", "GET", "/nothing", alice, app, 404, map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := w.request(tt.method, tt.path, tt.key, "")
			if tt.method == http.MethodPost {
				r = w.request(tt.method, tt.path, tt.key, toolCall)
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			got := w.do(r)
			if diff := cmp.Diff(tt.want, corsHeader(got.header)); got.status != tt.status || diff != "" {
				t.Errorf("status %d, want %d (-want +got):\n%s", got.status, tt.status, diff)
			}
		})
	}
}

func TestBrowsersMayAskFirst(t *testing.T) {
	config := defaults()
	config.AllowedOrigins, config.AllowedHosts = []string{app}, []string{"127.0.0.1"}
	w, alice := oneUser(t, config, servedBy("alice"))
	granted := map[string]string{
		"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposedHeaders,
		"Access-Control-Allow-Methods": "GET, POST, PUT, DELETE", "Access-Control-Max-Age": "600",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, Mcp-Param-Region", "Vary": "Origin, Access-Control-Request-Headers",
	}
	for _, tt := range []struct {
		name, path, origin, asks, host string
		status                         int
		want                           map[string]string
	}{
		{"a configured origin", "/u/alice/mcp", app, "POST", "", 204, granted},
		{"a user who is not there", "/u/nobody/mcp", app, "POST", "", 204, granted},
		{"a secret", "/u/alice/secrets/TOKEN", app, "PUT", "", 204, granted},
		{"another origin", "/u/alice/mcp", "https://evil.example", "POST", "", 403, map[string]string{"Vary": "Origin"}},
		{"another host", "/u/alice/mcp", app, "POST", "evil.example", 403, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposedHeaders}},
		{"no question", "/u/alice/mcp", app, "", "", 405, map[string]string{
			"Vary": "Origin", "Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposedHeaders}},
		{"our own page", "/u/alice/mcp", "http://127.0.0.1", "POST", "127.0.0.1", 405, map[string]string{"Vary": "Origin"}},
		{"another path", "/nothing", app, "POST", "", 404, map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := w.request("OPTIONS", tt.path, "", "")
			r.Host = tt.host
			r.Header.Set("Origin", tt.origin)
			r.Header.Set("Access-Control-Request-Headers", "authorization,content-type, mcp-param-region,cookie,x-forwarded-for")
			if tt.asks != "" {
				r.Header.Set("Access-Control-Request-Method", tt.asks)
			}
			got := w.do(r)
			if diff := cmp.Diff(tt.want, corsHeader(got.header)); got.status != tt.status || diff != "" {
				t.Errorf("status %d, want %d (-want +got):\n%s", got.status, tt.status, diff)
			}
		})
	}
	if strings.Contains(w.logs.String(), alice) {
		t.Error("the log contains a key")
	}
}

func TestWithoutConfiguredOriginsNoPageMayCall(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	for _, method := range []string{"POST", "OPTIONS"} {
		r := w.request(method, "/u/alice/mcp", alice, toolCall)
		r.Header.Set("Origin", app)
		r.Header.Set("Access-Control-Request-Method", "POST")
		if got := w.do(r); got.status != 403 || len(corsHeader(got.header)) > 0 {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
}

func TestNoPageMayCallWhatIsNotAUsers(t *testing.T) {
	config := defaults()
	config.AllowedOrigins = []string{app}
	w := newWorld(t, config)
	for method, status := range map[string]int{"OPTIONS": http.StatusMethodNotAllowed, "GET": http.StatusUnauthorized} {
		r := w.request(method, "/admin/audit", "", "")
		r.Header.Set("Origin", app)
		r.Header.Set("Access-Control-Request-Method", "GET")
		if got := w.do(r); got.status != status || len(corsHeader(got.header)) > 0 {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
}

// FuzzAllowedNames: what a page is allowed to send is a plain list of names
// that the ingress knows, whatever is asked.
func FuzzAllowedNames(f *testing.F) {
	for _, asked := range []string{"authorization, content-type", "mcp-param-a_b,mcp-param-", "*", "cookie", "Mcp-Param-A\r\nX: y", strings.Repeat("mcp-param-a,", 99)} {
		f.Add(asked)
	}
	list := regexp.MustCompile(`^((Authorization|X-Api-Key|Accept|Content-Type|Last-Event-Id|Mcp-[A-Za-z0-9-]+|Traceparent|Tracestate)(, |$))*$`)
	f.Fuzz(func(t *testing.T, asked string) {
		names := allowedNames([]string{asked})
		if got := strings.Join(names, ", "); !list.MatchString(got) || len(names) > maxAskedHeaders {
			t.Errorf("allowed: %q", got)
		}
	})
}
