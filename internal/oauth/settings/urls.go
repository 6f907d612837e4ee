// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxURL is the API's limit for the issuer of a subject.
const maxURL = 512

const (
	wantURL    = "an https URL of at most 512 characters without credentials, query and fragment; http is for localhost, 127.0.0.1 and [::1] alone"
	wantOrigin = "an origin as browsers write it, such as https://bridges.example.com, without a path and in lower case; http is for localhost, 127.0.0.1 and [::1] alone"
)

// safe returns the URL that text is, if it is of the form that wantURL says.
func safe(text string) (*url.URL, bool) {
	u, ok := oauth.SafeURL(text)
	return u, ok && len(text) <= maxURL && !strings.ContainsAny(text, "?# ")
}

func isURL(text string) bool {
	_, ok := safe(text)
	return ok
}

// isOrigin reports whether text is an origin in the one form that clients make
// of it: they compare the resource of a token byte by byte.
func isOrigin(text string) bool {
	u, ok := safe(text)
	if !ok || text != u.Scheme+"://"+strings.ToLower(u.Host) || strings.HasSuffix(text, ":") {
		return false
	}
	standard := map[string]string{"https": "443", "http": "80"}
	return u.Port() == "" || u.Port() != standard[u.Scheme] && !strings.HasPrefix(u.Port(), "0")
}

// isRedirect reports whether the answer to a login may go to text: as isURL, with
// a query if need be, or at a scheme that a program has for itself.
func isRedirect(text string, schemes []string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.User != nil || strings.ContainsAny(text, "# ") {
		return false
	}
	if slices.Contains(schemes, u.Scheme) {
		return len(text) > len(u.Scheme)+1
	}
	_, ok := oauth.SafeURL(text)
	return ok
}
