// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// CheckListen refuses an address that other machines can reach: the local bridge does not
// authenticate its callers.
func CheckListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("the address is not one such as 127.0.0.1:3100")
	}
	if !netguard.IsLoopback(host) {
		return errors.New("a bridge on a person's own machine asks for no key and serves only that machine: listen at 127.0.0.1 or [::1], or run a hosted bridge")
	}
	return nil
}

// Guard permits requests of this machine's own programs. It blocks websites, which could reach the
// bridge through a script or a DNS name for this machine (DNS rebinding). origins are the
// permitted websites, such as https://app.example.com.
func Guard(next http.Handler, origins []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !netguard.IsLoopback(hostOf(r.Host)):
			http.Error(w, "the bridge is on this machine: call it localhost or 127.0.0.1", http.StatusForbidden)
		case !mayAsk(r.Header["Origin"], origins):
			http.Error(w, "websites may not use the bridge; bridge serve --allow-origin names those that may", http.StatusForbidden)
		case permit(w, r):
			w.WriteHeader(http.StatusNoContent)
		default:
			next.ServeHTTP(w, short(r))
		}
	})
}

// permit tells a browser that a website may read the answer, and reports whether the request is a
// preflight. All headers are permitted: the security depends on the origin only.
func permit(w http.ResponseWriter, r *http.Request) (preflight bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	return true
}

// hostOf returns the name in a Host header without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// mayAsk checks the Origin headers of a request. Programs send none.
func mayAsk(sent, origins []string) bool {
	if len(sent) == 0 {
		return true
	}
	if len(sent) > 1 {
		return false
	}
	if slices.Contains(origins, sent[0]) {
		return true
	}
	u, err := url.Parse(sent[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && netguard.IsLoopback(u.Hostname())
}

// short adds the only user to the short paths /mcp and /sse. People paste the first with a slash at
// its end.
func short(r *http.Request) *http.Request {
	path := r.URL.Path
	if path == "/mcp/" {
		path = "/mcp"
	}
	if path != "/mcp" && path != "/sse" {
		return r
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/u/" + UserID + path
	return r
}
