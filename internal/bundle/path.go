// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	// MaxFiles is how many entries a bundle may have, directories and links
	// included: some ten times those of the largest packages that are known.
	MaxFiles = 200_000
	// maxPath is the length of an entry's path in bytes, a quarter of what Linux
	// accepts (PATH_MAX), which leaves room for the directory it is put into.
	maxPath = 1024
	// maxName is the length of one part of a path in bytes (NAME_MAX).
	maxName = 255
)

// goodPath reports whether an entry may have this path.
func goodPath(name string) bool {
	if name == "" || name == "." || len(name) > maxPath || path.Clean(name) != name || path.IsAbs(name) || !utf8.ValidString(name) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || len(part) > maxName || strings.ContainsAny(part, "\x00\\") {
			return false
		}
	}
	return true
}

// goodTarget reports whether a link at this path may lead to the target. The parts ".."
// stand at its beginning alone: after a name they would count from where another link
// leads to. So no chain of links leads outside, since the directories above a link
// are no links.
func goodTarget(name, target string) bool {
	if target == "" || len(target) > maxPath || path.Clean(target) != target || path.IsAbs(target) || strings.ContainsAny(target, "\x00\\") {
		return false
	}
	inside := path.Join(path.Dir(name), target)
	return utf8.ValidString(target) && inside != ".." && !strings.HasPrefix(inside, "../")
}

// comparePaths orders the entries of a bundle: what is in a directory follows it.
func comparePaths(a, b string) int {
	return cmp.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}
