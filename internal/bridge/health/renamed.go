// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import "strings"

// originalLimit bounds the names of a report, in bytes: a server chooses them.
const originalLimit = 128

// NewRenamed returns what a report says of a collision. A server may put
// credentials into a URI, so of one it keeps only the place.
func NewRenamed(kind, name, server, original string) Renamed {
	return Renamed{Kind: kind, Name: name, Server: server, Original: bounded(place(original), originalLimit)}
}

// place returns s, and of a URI what stands before its query and its fragment,
// without user information.
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
