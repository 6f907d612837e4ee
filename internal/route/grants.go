// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Grants are which servers of a bridge may use which of its user's secrets:
// for each server that may use any, a line of its name and theirs, with a
// space before each secret. As text it takes one allocation and no more bytes
// than the names, and a Backend stays comparable.
type Grants string

// GrantsOf returns the grants of a bridge.
func GrantsOf(b *effective.Bridge) Grants { return grantsOf(b.Spec.Servers, b.Status.Recipes) }

// grantsOf returns what servers are granted, by the spec or by their recipes. The
// API server's rules let no name with a space in it in; one that has it
// nevertheless grants nothing.
func grantsOf(servers []effective.Server, recipes []v1alpha1.RecipeStatus) Grants {
	var lines strings.Builder
	for _, server := range servers {
		secrets := secretsOf(server, recipes)
		if len(secrets) == 0 || !isWord(server.Name) {
			continue
		}
		lines.WriteString(server.Name)
		for _, secret := range secrets {
			if isWord(secret) {
				lines.WriteString(" " + secret)
			}
		}
		lines.WriteByte('\n')
	}
	return Grants(lines.String())
}

// secretsOf returns the secrets that a server may use. What the spec says of one
// of a recipe only bounds them.
func secretsOf(server effective.Server, recipes []v1alpha1.RecipeStatus) []string {
	if server.Shared != "" {
		return nil // They are not the user's.
	}
	if server.Recipe != nil {
		for _, r := range recipes {
			if r.Server == server.Name {
				return r.Secrets
			}
		}
		return nil
	}
	names := make([]string, len(server.Secrets))
	for i, name := range server.Secrets {
		names[i] = string(name)
	}
	return names
}

func isWord(name string) bool { return name != "" && !strings.ContainsFunc(name, unicode.IsSpace) }

// Secrets returns the secrets that servers may use, sorted.
func (g Grants) Secrets() []string {
	var secrets []string
	for line := range strings.Lines(string(g)) {
		secrets = append(secrets, strings.Fields(line)[1:]...)
	}
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

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

// Of returns the secrets that the server may use, in the order of its spec; not nil.
func (g Grants) Of(server string) []string {
	for line := range strings.Lines(string(g)) {
		if words := strings.Fields(line); words[0] == server {
			return words[1:]
		}
	}
	return []string{}
}
