// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// paramPrefix begins the names of the tool parameters that a 2026-07-28
// client repeats as headers. Intermediaries must pass all of them on.
const paramPrefix = "Mcp-Param-"

// HopsHeader names the bridges that a request has passed, by which they find
// that one calls itself through others.
const HopsHeader = "Hosted-Bridge-Hops"

// hopsForm is how the header looks. Client refuse fewer hops than fit in here.
var hopsForm = regexp.MustCompile(`^[0-9a-f]{16}(,[0-9a-f]{16}){0,7}$`)

// CheckHeader returns problems.RepeatedHeader, or problems.Hops where a request says in
// another form than bridges do which of them it has passed. It is refused:
// without the header the count of a loop would restart with each round.
func CheckHeader(h http.Header) error {
	if _, repeated := repeatedHeader(h); repeated {
		return problems.RepeatedHeader
	}
	if hops := h[HopsHeader]; len(hops) > 0 && !hopsForm.MatchString(hops[0]) {
		return problems.Hops
	}
	return nil
}

// requestHeaders are the headers that reach a bridge, by canonical name; true
// where more than one field of the name makes sense. Whatever is not here
// stays here: above all Authorization, X-Api-Key and Cookie, everything that
// claims an address or an identity.
var requestHeaders = map[string]bool{
	"Accept":               true,
	"Content-Type":         false,
	HopsHeader:             false,
	"Last-Event-Id":        false,
	"Mcp-Method":           false,
	"Mcp-Name":             false,
	"Mcp-Protocol-Version": false,
	"Mcp-Session-Id":       false,
	"Traceparent":          false,
	"Tracestate":           true,
	"User-Agent":           false,
}

// responseHeaders are the headers of a bridge's answer that reach the client.
// Set-Cookie is not among them: all users share one origin, and one tenant's
// cookie would be sent to the others.
var responseHeaders = map[string]bool{
	"Allow":                true,
	"Cache-Control":        true,
	"Content-Encoding":     true,
	"Content-Length":       true,
	"Content-Type":         true,
	"Mcp-Protocol-Version": true,
	"Mcp-Session-Id":       true,
	"Retry-After":          true,
}

// repeatedHeader returns the name of a header that means one thing and was
// sent twice. Two readers may disagree about which of the two counts, so the
// request is refused instead of repaired.
func repeatedHeader(h http.Header) (name string, repeated bool) {
	// Of two lengths over HTTP/2 net/http takes the first.
	if len(h["Content-Length"]) > 1 {
		return "Content-Length", true
	}
	for name, values := range h {
		if len(values) < 2 {
			continue
		}
		if many, known := requestHeaders[name]; (known && !many) || isParam(name) {
			return name, true
		}
	}
	return "", false
}

// Forwarded reports whether a client's header of that name goes to the bridge.
func Forwarded(name string) bool {
	_, known := requestHeaders[name]
	return known || isParam(name)
}

// isParam reports whether name is a parameter header. Names with an
// underscore are not: some servers read '_' as '-', and then two names that
// differ here would be one there.
func isParam(name string) bool {
	return len(name) > len(paramPrefix) && strings.HasPrefix(name, paramPrefix) && !strings.Contains(name, "_")
}

// KeepAnswerHeader removes from a bridge's answer what does not reach the
// client, and adds what the answer's kind calls for.
func KeepAnswerHeader(h http.Header) {
	for name := range h {
		if !responseHeaders[name] {
			delete(h, name)
		}
	}
	if IsEventStream(h) {
		// Reverse proxies in front of us would otherwise collect events.
		h.Set("X-Accel-Buffering", "no")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
}

// IsEventStream reports whether what follows h are events.
func IsEventStream(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
