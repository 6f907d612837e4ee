// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import "strings"

// originalLimit limits the names in a report, in bytes, because servers choose them.
const originalLimit = 128

// NewRenamed returns the report of a collision. A server may put credentials into a URI, so the
// report keeps only its location.
func NewRenamed(kind, name, server, original string) Renamed {
	return Renamed{Kind: kind, Name: name, Server: server, Original: bounded(place(original), originalLimit)}
}

// place returns s. For a URI, it removes the user information, the query and the fragment.
func place(s string) string {
	scheme, rest, isURI := strings.Cut(s, "://")
	if !isURI {
		return s
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	authority, path, hasPath := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if hasPath {
		authority += "/" + path
	}
	return scheme + "://" + authority
}
