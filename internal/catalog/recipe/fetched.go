// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fetched is what npx or uvx fetch and start.
type Fetched struct {
	// Package is how the arguments name the package.
	Package string
	// Program is which of its programs is started, empty for its own.
	Program string
}

// naming are the options before the package.
var naming = map[string][]string{"npx": {"-p", "--package"}, "uvx": {"--from"}}

// Fetches returns what the arguments of npx or uvx fetch and start. It refuses
// every option before the program but the few that change nothing of that: others
// bring further packages, or take them from elsewhere.
func Fetches(method string, args []string) (Fetched, error) {
	var f Fetched
	for n := 0; n < len(args); n++ {
		word, next := args[n], ""
		if n+1 < len(args) {
			next = args[n+1]
		}
		switch {
		case isYes(method, word):
		case slices.Contains(naming[method], word) && f.Package == "" && next != "":
			n++
			f.Package = next
		case word == "--" && next != "" && next[0] != '-':
			return f.start(next), nil
		case strings.HasPrefix(word, "-"):
			option, _, _ := strings.Cut(word, "=")
			return Fetched{}, fmt.Errorf("%.40q may not stand before the program: only %s may, once, with the package as the next word%s", option, strings.Join(naming[method], " or "), yes(method))
		default:
			return f.start(word), nil
		}
	}
	return Fetched{}, errors.New("name no program")
}

// isYes reports whether a word is npx's not to ask.
func isYes(method, word string) bool { return method == "npx" && (word == "-y" || word == "--yes") }

// start notes the first word that is no option: the package, unless one is named.
func (f Fetched) start(word string) Fetched {
	if f.Package == "" {
		f.Package = word
	} else {
		f.Program = word
	}
	return f
}

func yes(method string) string {
	if method == "npx" {
		return ", and -y"
	}
	return ""
}

// Version splits the package from the version that the arguments give it.
func (f Fetched) Version() (name, version string) { return splitPackage(f.Package) }
