// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lastLines is how many lines of a log say what went wrong, where no code does.
const lastLines = 5

// unreachable are the codes by which npm says that it cannot talk to the registry: those of
// Node's sockets and resolver, of TLS, and of the registry's own trouble.
var unreachable = []string{
	"ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EPIPE",
	"ERR_SOCKET_TIMEOUT", "EIDLETIMEOUT", "ECONNECTIONTIMEOUT", "ERESPONSETIMEOUT", "ETRANSFERTIMEOUT", "EPROTO",
	"DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT",
	"UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_UNTRUSTED", "ERR_TLS_CERT_ALTNAME_INVALID",
	"E429", "E500", "E502", "E503", "E504",
}

var (
	npmCode     = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (\w+)$`)
	npmMissing  = regexp.MustCompile(`(?m)^npm (?:error|ERR!) 404 +(?:The requested resource )?'([^'\n]{1,300})'`)
	npmNoTarget = regexp.MustCompile(`(?m)^npm (?:error|ERR!) notarget No matching version found for (\S{1,300}?)\.?$`)
	npmEngine   = regexp.MustCompile(`(?m)^npm (?:error|ERR!) notsup Not compatible with your version of node/npm: (\S{1,300})$`)
	npmRequired = regexp.MustCompile(`(?m)^npm (?:error|ERR!) notsup Required: (.{1,300})$`)
	npmActual   = regexp.MustCompile(`(?m)^npm (?:error|ERR!) notsup Actual:\s+(.{1,300})$`)
	npmRequest  = regexp.MustCompile(`(?m)(request to \S{1,300} failed, reason: .{1,300})$`)
)

// InstallFailure says why npm failed, by what it wrote. The package is name@version, as npm
// was asked for it.
func InstallFailure(wanted, log string) *Failure {
	log = strings.ToValidUTF8(log, "")
	code := first(npmCode, log)
	switch {
	case code == "E404":
		return failure(PackageNotFound, "The registry has no package %s, or does not show it without a login. "+
			"Correct the name, or publish the package to the registry.", needed(first(npmMissing, log), wanted))
	case code == "ETARGET":
		return failure(VersionNotFound, "The registry has no version %s: it was withdrawn, or never published. "+
			"Name a version that the registry has.", needed(first(npmNoTarget, log), wanted))
	case code == "EBADENGINE":
		return failure(NodeTooOld, "%s does not run with the Node.js that installs it: it requires %s, and there is %s. "+
			"Use this version of Node.js, in a cluster by another runtime image, or an earlier version of the package.",
			cmp.Or(first(npmEngine, log), wanted), cmp.Or(first(npmRequired, log), "another version of Node"), cmp.Or(first(npmActual, log), "an earlier one"))
	case slices.Contains(unreachable, code):
		return failure(RegistryUnreachable, "The registry did not answer (%s): %s. Check its URL, the network policy and its certificate.",
			code, cmp.Or(first(npmRequest, log), "npm gives no more reasons"))
	}
	return failure(InstallFailed, "npm could not install %s. Its log ends with: %s", wanted, tail(log))
}

// needed returns what npm did not find, and for what it was needed.
func needed(missing, wanted string) string {
	if missing == "" || missing == wanted {
		return wanted
	}
	return missing + ", which " + wanted + " needs"
}

func first(form *regexp.Regexp, text string) string {
	if found := form.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// tail returns the last lines of a log that say something, without that of where npm's own
// log was.
func tail(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line != "" && line != "npm error" && !strings.Contains(line, "A complete log of this run") {
			lines = append(lines, plainText(line, maxMessage/lastLines))
		}
	}
	if len(lines) == 0 {
		return "nothing was written"
	}
	return strings.Join(lines[max(0, len(lines)-lastLines):], " | ")
}

// plainText returns a text without control characters, cut to so many bytes.
func plainText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) <= limit {
		return text
	}
	for limit -= len("…"); !utf8.RuneStart(text[limit]); limit-- {
	}
	return text[:limit] + "…"
}
