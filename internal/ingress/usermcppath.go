// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import "strings"

// maxUserID is the longest user id, as v1alpha1.UserIDPattern has it.
const maxUserID = 63

// isUserMCPPath reports whether path is the one of most requests, /u/<id>/mcp. It
// matches no path that userPath does not match. It spares calls the regular
// expressions, which take longer than authentication.
func isUserMCPPath(path string) bool {
	id, ok := strings.CutPrefix(path, "/u/")
	if !ok {
		return false
	}
	if id, ok = strings.CutSuffix(id, "/mcp"); !ok || id == "" || len(id) > maxUserID {
		return false
	}
	for i := range len(id) {
		inside := i > 0 && i < len(id)-1
		if c := id[i]; !labelByte(c) && (c != '-' || !inside) {
			return false
		}
	}
	return true
}

// labelByte reports whether c may stand anywhere in a DNS label.
func labelByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
