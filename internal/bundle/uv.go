// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"regexp"
	"strings"
)

// What uv says when nothing fits, and when it reaches no registry. It has no codes.
var (
	uvMissing     = regexp.MustCompile(`(\S+) was not found in the (?:package registry|provided package locations)`)
	uvNoWheel     = regexp.MustCompile(`(\S+) (?:has|have) no (?:usable wheels|wheels with a matching [^(]*tag)`)
	uvPython      = regexp.MustCompile(`Python version \(([^)]+)\) does not satisfy Python(\S+) and (\S+) depends on`)
	uvNoVersion   = regexp.MustCompile(`there (?:is|are) no versions? of (\S+)`)
	uvOnly        = regexp.MustCompile(`only \S+ (?:is|are) available and (?:you require|.{1,300}? depends? on) ([^\s,]+)`)
	uvUnreachable = regexp.MustCompile(`error sending request for url|Could not connect, are you offline|HTTP status server error|HTTP status client error \(429|Request failed after`)
	uvFetch       = regexp.MustCompile("Failed to fetch: `([^`\n]{1,300})`")
	uvReason      = regexp.MustCompile(`(?:Caused by:|├─▶|╰─▶) *(.{1,300})`)
	// uvWrapped is how a text goes on in another line.
	uvWrapped = regexp.MustCompile(`\n[ │]{8,}`)
)

// UVFailure says why uv failed, by what it wrote. The package is name@version.
func UVFailure(wanted, log string) *Failure {
	log = uvWrapped.ReplaceAllString(strings.ToValidUTF8(log, ""), " ")
	name, _, _ := strings.Cut(wanted, "@")
	switch {
	case uvPython.MatchString(log):
		found := uvPython.FindStringSubmatch(log)
		return failure(PythonUnsupported, "The runtime image has Python %s, which is not supported by %s: it requires %s. "+
			"Use an image with such a Python, or another version of the package.",
			found[1], neededPython(found[3], wanted), found[2])
	case uvNoWheel.MatchString(log):
		return failure(NoWheel, "The registry has no wheel of %s for this machine and the image's Python. Use another version of the package or of Python, "+
			"or have it built in the Job: add %s to bundles.installScripts.", neededPython(first(uvNoWheel, log), wanted), name)
	case uvMissing.MatchString(log):
		return failure(PackageNotFound, "The registry has no package %s, or does not show it without a login. "+
			"Correct the name, or publish the package to the registry.", neededPython(first(uvMissing, log), wanted))
	case uvNoVersion.MatchString(log) || uvOnly.MatchString(log):
		return failure(VersionNotFound, "The registry has no version %s: it was withdrawn, or never published. "+
			"Name a version that the registry has.", neededPython(cmp.Or(first(uvNoVersion, log), first(uvOnly, log)), wanted))
	case uvUnreachable.MatchString(log):
		reasons := uvReason.FindAllStringSubmatch(log, -1)
		reason := "uv gives no more reasons"
		if len(reasons) > 0 {
			reason = reasons[len(reasons)-1][1]
		}
		return failure(RegistryUnreachable, "The registry did not answer (%s): %s. Check its URL, the network policy and its certificate.",
			cmp.Or(first(uvFetch, log), "no URL is named"), plainText(reason, maxMessage/2))
	}
	return failure(InstallFailed, "uv could not install %s. Its log ends with: %s", wanted, tail(log))
}

// neededPython returns what uv did not find, and for what it was needed.
func neededPython(missing, wanted string) string {
	name, _, _ := strings.Cut(wanted, "@")
	if end := strings.IndexAny(missing, "=<>!~["); project(missing[:max(end, 0)]) == project(name) || project(missing) == project(name) {
		return wanted
	}
	return needed(missing, wanted)
}
