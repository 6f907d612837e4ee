// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

// outcomes say how a call ended.
var outcomes = map[audit.Status]string{
	audit.Success: "Done", audit.ToolError: "The tool failed", audit.UpstreamError: "The server failed", audit.Timeout: "Too slow",
	audit.Denied: "Not allowed", audit.RateLimited: "Over the quota", audit.Cancelled: "Cancelled",
	audit.ProtocolError: "Refused by the server", audit.InputRequired: "Asked for more",
}

// outcome returns how a call ended, in words.
func outcome(s audit.Status) string {
	if text := outcomes[s]; text != "" {
		return text
	}
	return "Not done"
}

// deeds say what was done, by the names that the audit trail has.
var deeds = map[string]string{
	"user/keys.create": "Made a key", "user/keys.revoke": "Revoked a key",
	"admin/keys.create": "Made a key", "admin/keys.revoke": "Revoked a key",
	"user/servers.choose": "Chose about a server", "user/servers.clear": "Removed a choice about a server",
	"user/connections.delete": "Disconnected an account",
	"user/secrets.set":        "Set a secret", "user/secrets.delete": "Deleted a secret",
	"user/console.login": "Logged in to the console", "user/console.logout": "Logged out of the console",
	"user/requests.create": "Asked for a server", "user/requests.delete": "Withdrew a request",
	"admin/requests.approve": "Approved a request", "admin/requests.refuse": "Refused a request",
	"admin/access.set": "Changed who has access", "admin/bridge.wake": "Woke the bridge",
	"login/allow": "Let an app in",
}

// deed returns what an entry of the audit trail is about, in words where there are some.
func deed(act string) string {
	if text := deeds[act]; text != "" {
		return text
	}
	return strings.ReplaceAll(act, "/", " ")
}

// app returns what called, as a person knows it: a browser names many others too.
func app(userAgent string) string {
	if strings.HasPrefix(userAgent, "Mozilla/") {
		return "a browser"
	}
	return userAgent
}

// count returns a number with commas between its thousands.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// within returns a time to wait, in words.
func within(seconds int64) string {
	const minute, hour = 60, 60 * 60
	switch {
	case seconds < 2*minute:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 2*hour:
		return fmt.Sprintf("%d min", (seconds+minute-1)/minute)
	}
	return fmt.Sprintf("%d h", (seconds+hour-1)/hour)
}

// sentence returns a text of a server as a sentence.
func sentence(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if text = string(unicode.ToUpper(r)) + text[size:]; size == 0 {
		return ""
	}
	if strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// Took returns how long a call took, in words.
func Took(milliseconds int64) string {
	d := time.Duration(milliseconds) * time.Millisecond
	switch {
	case milliseconds == 0:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", milliseconds)
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// ago returns how long ago a time was, in words.
func ago(now, at time.Time) string {
	switch d := now.Sub(at); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < today:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return when(at)
	}
}

// when returns a time as records have it.
func when(at any) string {
	switch t := at.(type) {
	case time.Time:
		if !t.IsZero() {
			return t.UTC().Format("2 January 2006, 15:04 UTC")
		}
	case *time.Time:
		if t != nil {
			return when(*t)
		}
	}
	return "not known"
}

// installed says of a package whether it is installed, and how much of it there is.
func installed(p catalog.Program) string {
	switch {
	case p.InstalledAt != nil:
		packages := "packages"
		if p.Packages == 1 {
			packages = "package"
		}
		digest := strings.TrimPrefix(p.Digest, "sha256:")
		return fmt.Sprintf("is installed once for all users, on %s: %d %s, digest %s", when(p.InstalledAt), p.Packages, packages, digest[:min(len(digest), 12)])
	case p.State == "":
		return "is installed when the first user adds it"
	case p.State == v1alpha1.ReasonInstalling:
		return "is being installed"
	}
	return "could not be installed (" + pages.Plain(p.State) + ")"
}
