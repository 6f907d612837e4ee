// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// originsLimit is how many bytes of a place the origins in a program's
// configuration may take. A digest replaces longer ones.
const originsLimit = 1024

// absolute is the beginning of a URL, in whatever a program may be told. Slashes
// may be escaped, as in JSON, and those after the schemes of the web may be too
// few or the wrong ones: parsers forgive that.
var absolute = regexp.MustCompile(`(?i)(?:https?|wss?|ftp):[/\\]*|[a-z][a-z0-9+.-]*:[/\\]{2,}`)

// unbroken leaves out what parsers leave out within a URL. In a file it ends one.
var unbroken = strings.NewReplacer("\t", "", "\r", "", "\n", "")

// toldOrigins returns the origins of all URLs in the program's configuration,
// sorted: the destination of the user's secrets is often only an argument.
func toldOrigins(program *bridgeconfig.Program) []string {
	found := map[string]bool{}
	for _, arg := range program.Command {
		addOrigins(found, unbroken.Replace(arg))
	}
	for _, v := range program.Env {
		addOrigins(found, unbroken.Replace(v.Value))
	}
	for _, f := range program.Files {
		addOrigins(found, f.Content)
	}
	return slices.Sorted(maps.Keys(found))
}

func addOrigins(found map[string]bool, text string) {
	for _, at := range absolute.FindAllStringIndex(text, -1) {
		scheme, _, _ := strings.Cut(text[at[0]:at[1]], ":")
		if host := authority(text[at[1]:]); host != "" {
			found[oauth.Origin(strings.ToLower(scheme)+"://"+host)] = true
		}
	}
}

// authority returns the part of a URL that names the host. A variable belongs to
// it with all of its default.
func authority(rest string) string {
	depth := 0
	for i := range len(rest) {
		switch c := rest[i]; {
		case c <= ' ':
			return rest[:i]
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case depth == 0 && strings.IndexByte("/\\?#\"'`<>()[]}|;", c) >= 0 && !bracketed(rest, i):
			return rest[:i]
		}
	}
	return rest
}

// bracketed reports whether the byte is one of the brackets of an IPv6 address.
func bracketed(rest string, i int) bool {
	switch rest[i] {
	case '[':
		return i == 0 || rest[i-1] == '@'
	case ']':
		return strings.HasPrefix(rest, "[") || strings.Contains(rest[:i], "@[")
	}
	return false
}

// told returns what a program's place says of the origins that it is told.
func told(origins []string) string {
	if len(origins) == 0 {
		return ""
	}
	list := strings.Join(origins, ", ")
	if len(list) > originsLimit {
		list = fmt.Sprintf("%d origins (%s)", len(origins), catalog.Digest(list))
	}
	return " with " + list
}
