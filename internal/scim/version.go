// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import "strings"

// Matches reports whether a version is one of those that If-Match or If-None-Match names. By
// RFC 9110 an asterisk is any.
func Matches(fields []string, version string) bool {
	for tag := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		// Versions are weak and have no comma; some clients leave out what shows that.
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(version, "W/") {
			return true
		}
	}
	return false
}
