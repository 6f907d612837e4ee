// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Call is one command of a script: its words, as far as they can be known
// without running it. What the shell would put in is a dollar sign in them.
type Call []string

// Calls returns the commands of a script, those within others too, and an error
// where bash would not read it.
func Calls(script string) ([]Call, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	var calls []Call
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			words := make(Call, 0, len(call.Args))
			for _, word := range call.Args {
				words = append(words, literal(word.Parts))
			}
			calls = append(calls, words)
		}
		return true
	})
	return calls, nil
}

func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			// A line goes on after a backslash at its end.
			b.WriteString(strings.ReplaceAll(part.Value, "\\\n", ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(part.Parts))
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

// Flags returns the call's flags without their values, and its other words.
// What comes after "--" is another program's.
func (c Call) Flags() (flags, words []string, rest Call) {
	for i, word := range c {
		switch {
		case word == "--":
			return flags, words, c[i+1:]
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(word, "=")
			flags = append(flags, name)
		case len(word) > 1 && word[0] == '-' && word[1] != '$':
			flags = append(flags, word[:2])
		default:
			words = append(words, word)
		}
	}
	return flags, words, nil
}
