// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/docs"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// advice is what the documentation says of a reason: what it means, and what to do.
type advice struct {
	// text has one line for each paragraph.
	text []string
	// commands are those that the page shows, for this bridge.
	commands []string
	// place is where the page says it.
	place string
}

var (
	links    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	comments = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	alice    = regexp.MustCompile(`\balice\b`)
	heading  = regexp.MustCompile(`(?m)^##`)
	tenants  = regexp.MustCompile(`\btenants\b`)
)

// adviceOn returns what docs/troubleshooting.md says of a reason, and false if it says nothing.
// The page has a heading for each reason of a condition and of a recipe, and a row for each
// reason of a server.
func adviceOn(reason string, b *effective.Bridge, installation string) (advice, bool) {
	if _, section, found := strings.Cut(docs.Troubleshooting, "\n### "+reason+"\n"); found {
		if end := heading.FindStringIndex(section); end != nil {
			section = section[:end[0]]
		}
		return sectionAdvice(section, strings.ToLower(reason), b, installation), true
	}
	row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(reason) + "` \\| (.*) \\| (.*) \\|$").FindStringSubmatch(docs.Troubleshooting)
	if row == nil {
		return advice{}, false
	}
	return advice{text: []string{plain(row[1] + " " + row[2])}, place: "docs/troubleshooting.md#serversunhealthy"}, true
}

// sectionAdvice reads a section of the page. Its commands are about alice in the namespace
// tenants, and become those about this bridge.
func sectionAdvice(section, anchor string, b *effective.Bridge, installation string) advice {
	a := advice{place: "docs/troubleshooting.md#" + anchor}
	for i, part := range strings.Split(comments.ReplaceAllString(section, ""), "```") {
		if i%2 == 0 {
			for paragraph := range strings.SplitSeq(part, "\n\n") {
				if text := plain(paragraph); text != "" {
					a.text = append(a.text, text)
				}
			}
			continue
		}
		for line := range strings.Lines(strings.TrimPrefix(part, "sh\n")) {
			line = alice.ReplaceAllLiteralString(tenants.ReplaceAllLiteralString(line, b.Namespace), b.Name)
			line = strings.ReplaceAll(line, "hosted-bridge-system", installation)
			a.commands = append(a.commands, strings.TrimSuffix(line, "\n"))
		}
	}
	return a
}

// plain returns Markdown as a terminal shows it.
func plain(markdown string) string {
	return strings.Join(strings.Fields(links.ReplaceAllString(markdown, "$1")), " ")
}
