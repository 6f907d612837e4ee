// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which version a program is. A release is built with
//
//	-ldflags="-X github.com/hostedbridge/hostedbridge/internal/version.stamped=1.2.3"
//
// and what is built otherwise says so.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Development is the version of a program that is built of no release: lower
// than every release, where versions are compared.
const Development = "0.0.0-dev"

// stamped is the release's version, set by the linker.
var stamped string

// String returns the program's version, without a v before it.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return of(stamped, "")
	}
	return of(stamped, info.Main.Version)
}

// of returns what the linker says, or else of which version of the module the
// program was built: go install names it, a build in a work tree does not.
func of(stamped, module string) string {
	if module == "(devel)" {
		module = ""
	}
	return strings.TrimPrefix(cmp.Or(stamped, module, Development), "v")
}
