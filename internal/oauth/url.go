// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "net/url"

// SafeURL returns the URL that text is, if nobody on the way can read or change
// what goes there and comes from there: it is https, or http on this machine,
// which localhost, 127.0.0.1 and [::1] are. It has a host, and neither a user nor a
// fragment.
func SafeURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, false
	}
	return u, u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// isLoopback reports whether nobody but this machine listens at the host.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
