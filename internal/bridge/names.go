// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"strconv"
	"strings"
)

// namer gives out the names under which the features of several servers are
// offered. Equal calls in equal order give equal names, so that a restart
// renames nothing.
type namer struct {
	taken map[string]bool
}

// name returns <server>_<feature>, and with _2, _3 and so on behind it where
// that is taken. A taken name is possible because a server's name may itself
// hold an underscore, and because different characters become the same one.
func (n *namer) name(server, feature string) string {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	base := sanitize(server) + "_" + sanitize(feature)
	name := base
	for i := 2; n.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	n.taken[name] = true
	return name
}

// sanitize replaces whatever is not a letter, a digit, a hyphen or an
// underscore: models call tools by name, and their providers accept no more.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}
