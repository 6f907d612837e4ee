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
)

// CheckListen refuses an address that others than this machine reach: nobody
// asks there who is calling.
func CheckListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("the address is not one such as 127.0.0.1:3100")
	}
	if !loopback(host) {
		return errors.New("a bridge on a person's own machine asks for no key and serves only that machine: listen at 127.0.0.1 or [::1], or run a hosted bridge")
	}
	return nil
}

// Guard lets through what this machine's own programs ask of next: it keeps
// websites from reaching the bridge, by a script or by a name that they have
// lead to this machine (DNS rebinding). Origins are those of websites that may,
// such as https://app.example.com.
func Guard(next http.Handler, origins []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !loopback(hostOf(r.Host)):
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

// permit tells a browser that the website of a request may read the answer, and
// reports whether that is all that the request asks for. Which headers a script
// may send is no secret: the origin is what counts.
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

// hostOf returns a Host header's name without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// mayAsk judges the Origin headers of a request. Programs send none.
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
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Hostname())
}

// short has the one user's paths reached without their name: /mcp and /sse.
func short(r *http.Request) *http.Request {
	if r.URL.Path != "/mcp" && r.URL.Path != "/sse" {
		return r
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/u/" + UserID + r.URL.Path
	return r
}
