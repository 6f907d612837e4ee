// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"regexp"
	"strings"
)

var (
	// packageForm is the form of a package with or without a version, of npm and of Python. What a
	// program writes is read by more people than its user, so nothing else of it is repeated.
	packageForm = regexp.MustCompile(`^(?:@[\w.~-]+/)?[\w.~-]+(?:(?:@|[=<>!~^]=?=?)[\w.~^*-]+)?$`)
	pipMissing  = regexp.MustCompile(`No matching distribution found for ([^\s(]{1,300})`)
)

// FetchFailure says why a program that fetches a package and starts it could not fetch it, by what it
// wrote; nil if it is another program, or wrote something else.
func FetchFailure(program, log string) *Failure {
	log = strings.ToValidUTF8(log, "")
	var code Code
	var name string
	switch program {
	case "npx", "npm":
		name = cmp.Or(first(npmMissing, log), first(npmNoTarget, log))
		code = InstallFailure(name, log).Code
	case "uvx", "uv", "pipx":
		log = uvWrapped.ReplaceAllString(log, " ")
		name = cmp.Or(first(uvMissing, log), first(pipMissing, log), first(uvNoVersion, log), first(uvOnly, log))
		if code = UVFailure(name, log).Code; pipMissing.MatchString(log) {
			code = PackageNotFound
		}
	}
	if !packageForm.MatchString(name) {
		name = "that it was asked for"
	}
	switch code {
	case PackageNotFound:
		return failure(code, "The registry has no package %s, or does not show it without a login. Correct the name.", name)
	case VersionNotFound:
		return failure(code, "The registry has no version %s: it was withdrawn, or never published. Name a version that the registry has.", name)
	case RegistryUnreachable:
		return failure(code, "The registry did not answer. Check its URL, the network policy and its certificate.")
	}
	return nil
}
