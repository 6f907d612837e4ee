// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"maps"
	"net/http"
	"net/url"
)

// Origin is the location of a server. Requests to other origins carry none of its headers.
type Origin struct {
	scheme, host string
}

// OriginOf returns the origin of a URL.
func OriginOf(s string) Origin {
	u, err := url.Parse(s)
	if err != nil {
		return Origin{} // bridgeconfig.Validate refuses such URLs; this origin matches nothing.
	}
	return Origin{scheme: u.Scheme, host: u.Host}
}

// Contains reports whether u is within the origin. A redirect from http to https stays within it.
// A redirect from https to http does not, because anybody could read the request.
func (o Origin) Contains(u *url.URL) bool {
	return o.host != "" && u.Host == o.host && (u.Scheme == o.scheme || u.Scheme == "https")
}

// HeaderTransport sets a server's headers on the requests that go to it.
type HeaderTransport struct {
	Next    http.RoundTripper
	Origin  Origin
	Headers http.Header
}

// RoundTrip implements http.RoundTripper.
func (a *HeaderTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(a.Headers) == 0 || !a.Origin.Contains(r.URL) {
		return a.Next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	maps.Copy(r.Header, a.Headers)
	return a.Next.RoundTrip(r)
}

// OriginTransport sends requests to the server's origin through its login. Requests to other
// origins must not carry the token and go around it.
type OriginTransport struct {
	Server, Others http.RoundTripper
	Origin         Origin
}

// RoundTrip implements http.RoundTripper.
func (o *OriginTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.Origin.Contains(r.URL) {
		return o.Server.RoundTrip(r)
	}
	return o.Others.RoundTrip(r)
}
