// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// SafeURL parses a URL whose traffic nobody on the network can read or change:
// it is https, or http on this machine, which means localhost or a loopback
// address. It has a host, and neither a user nor a fragment.
func SafeURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, false
	}
	return u, u.Scheme == "https" || u.Scheme == "http" && netguard.IsLoopback(u.Hostname())
}

// standardPorts are left out of an origin, as in most URLs.
var standardPorts = map[string]string{"http": "80", "https": "443"}

// Origin returns a URL's scheme, host and port in one spelling. Text that is no
// URL with a host is returned as it is.
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != standardPorts[scheme] {
		host += ":" + port
	}
	return scheme + "://" + host
}
