// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
)

var (
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	// ages are as kubectl prints them: 20m, 3d4h, 110ms, 0.7s.
	ages = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h|d)(\d+(s|m|h))?\b`)
	// byLabels is how a command of a page selects objects.
	byLabels = regexp.MustCompile(`\bkubectl\b[^|;&]*\s(-l|--selector)[ =]`)
	// emptyList is an answer whose result is a list without entries: the list of an
	// MCP server's answer, or the first member of another one.
	emptyList = regexp.MustCompile(`"result":\{[^\n]*"(tools|prompts|resources)":\s*\[\]|(?m:(^|\})\s*\{\s*"\w+":\s*\[\])`)
	gaps      = regexp.MustCompile(`[ \t]+`)
)

// Matches reports whether something that was printed is what a page shows.
func Matches(shown, printed string) bool {
	parts := strings.Split(plain(shown), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, `.*`) + `\z`).MatchString(plain(printed))
}

// plain takes away in what no two runs agree.
func plain(text string) string {
	text = times.ReplaceAllString(text, "TIME")
	text = ages.ReplaceAllString(text, "AGE")
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(gaps.ReplaceAllString(line, " ")))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// SelectsNothing reports whether a command asked by labels for what there is
// nothing of, which kubectl takes for an answer: such a page has mistyped labels.
// What is asked by its state, such as pods that wait, may well not be there.
func SelectsNothing(command, printed string) bool {
	return byLabels.MatchString(command) && !strings.Contains(command, "--field-selector") && strings.Contains(printed, "No resources found")
}

// ListsNothing reports whether an answer that was printed lists nothing. A page
// that asks for a list has something to show in it.
func ListsNothing(printed string) bool { return emptyList.MatchString(printed) }
