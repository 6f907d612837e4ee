// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// appendVariables adds the variables of text to names, each once. It stops when
// there are more than a recipe may have.
func appendVariables(names []string, text string) []string {
	for _, m := range variablePattern.FindAllStringSubmatch(text, -1) {
		if len(names) > maxVariables {
			break
		}
		if m[1] != configDir && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Translate writes a text in which ${NAME} and ${NAME:-text} are variables and
// all other dollar signs are literal as a bridge's template, and returns the
// names of the secrets in it. Names that no secret can have are written in
// capitals.
func Translate(text string) (translated string, secrets []string) {
	var b strings.Builder
	at := 0
	for _, m := range variablePattern.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(escape(text[at:m[0]]))
		name := SecretName(text[m[2]:m[3]])
		b.WriteString("${" + name)
		if m[4] >= 0 {
			b.WriteString(":-" + escape(text[m[4]+len(":-"):m[5]]))
		}
		b.WriteByte('}')
		if name != configDir && !slices.Contains(secrets, name) {
			secrets = append(secrets, name)
		}
		at = m[1]
	}
	b.WriteString(escape(text[at:]))
	return b.String(), secrets
}

func escape(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// SecretName returns the name of the secret that a variable stands for: its own
// if a secret can have it, else one in capitals.
func SecretName(variable string) string {
	if template.ValidName(variable) {
		return variable
	}
	return variableName(variable)
}
