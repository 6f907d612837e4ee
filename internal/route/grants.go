// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Grants are which servers of a bridge may use which of its user's secrets:
// for each server that may use any, a line of its name and theirs, with a
// space before each secret. As text it takes one allocation and no more bytes
// than the names, and a Backend stays comparable.
type Grants string

// grantsOf returns what servers are granted. The API server's rules let no name
// with a space in it in; one that has it nevertheless grants nothing.
func grantsOf(servers []v1alpha1.Server) Grants {
	var lines strings.Builder
	for _, server := range servers {
		if len(server.Secrets) == 0 || !isWord(server.Name) {
			continue
		}
		lines.WriteString(server.Name)
		for _, secret := range server.Secrets {
			if isWord(string(secret)) {
				lines.WriteString(" " + string(secret))
			}
		}
		lines.WriteByte('\n')
	}
	return Grants(lines.String())
}

func isWord(name string) bool { return name != "" && !strings.ContainsFunc(name, unicode.IsSpace) }

// Servers returns the servers that may use the secret, in their order in the
// spec.
func (g Grants) Servers(secret string) []string {
	var servers []string
	for line := range strings.Lines(string(g)) {
		words := strings.Fields(line)
		if slices.Contains(words[1:], secret) {
			servers = append(servers, words[0])
		}
	}
	return servers
}
