// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pages is what the pages of the installation share: the style sheet, the icons, and
// how text of others is shown. The package is pure.
package pages

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is the style sheet of all pages.
//
//go:embed assets/style.css
var Style string

// CopyScript adds a button that copies to each text of a page that people copy. Without it, as
// in a browser without scripts or over plain HTTP, one click selects the text.
//
//go:embed assets/copy.js
var CopyScript string

// UpdateScript updates the parts of a page of which something is under way. Without it a link
// loads the page again.
//
//go:embed assets/update.js
var UpdateScript string

// The lengths of text of others on a page, in characters. A name stands in a line with
// other things; a result is what a person asked for.
const (
	NameLength   = 80
	TextLength   = 400
	ResultLength = 64 << 10
)

// Funcs are the functions of all templates.
func Funcs() template.FuncMap {
	return template.FuncMap{"name": Name, "text": Text, "plain": Plain, "icon": Icon}
}

// Name returns a name that others gave as HTML: at most NameLength characters, isolated
// from the text around it, whichever direction it is written in.
func Name(s any) template.HTML { return isolated(s, NameLength) }

// Plain returns a name that others gave as text, for attributes and titles.
func Plain(s any) string { return Visible(fmt.Sprint(s), NameLength) }

// Text returns a text of others as HTML, as Name does, of at most TextLength characters.
func Text(s any) template.HTML { return isolated(s, TextLength) }

func isolated(s any, most int) template.HTML {
	return template.HTML("<bdi>" + template.HTMLEscapeString(Visible(fmt.Sprint(s), most)) + "</bdi>") //nolint:gosec // It is escaped.
}

// Visible returns at most that many characters of s, and an ellipsis if there are more.
// Characters that are not seen, or that change how others are shown, are replaced by their
// code points in brackets; line ends and tabs stay.
func Visible(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == most {
			b.WriteRune('…')
			break
		}
		n++
		switch {
		case r == utf8.RuneError:
			b.WriteRune('�')
		case r == '\n' || r == '\t' || r == ' ' || unicode.IsPrint(r) && !unicode.Is(unicode.Bidi_Control, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// icons are drawn on a grid of 16.
var icons = map[string]string{
	"works":     `<path d="M8 0a8 8 0 1 0 0 16A8 8 0 0 0 8 0Zm3.8 6.3-4.4 5a.8.8 0 0 1-1.2 0L4.2 9.1a.8.8 0 0 1 1.2-1.1l1.4 1.6 3.8-4.4a.8.8 0 0 1 1.2 1.1Z"/>`,
	"asleep":    `<path d="M6.2 1a7 7 0 1 0 8.6 9.4A6 6 0 0 1 6.2 1Z"/>`,
	"starting":  `<path d="M8 1.5a6.5 6.5 0 1 1-6.2 4.6" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`,
	"needs":     `<path d="M8 1 .6 14.4h14.8L8 1Zm-.9 4.8h1.8l-.2 4.5H7.3l-.2-4.5ZM8 13a1 1 0 1 1 0-2 1 1 0 0 1 0 2Z"/>`,
	"broken":    `<path d="M4.9 0h6.2L16 4.9v6.2L11.1 16H4.9L0 11.1V4.9L4.9 0Zm.9 4.5L4.5 5.8 6.7 8l-2.2 2.2 1.3 1.3L8 9.3l2.2 2.2 1.3-1.3L9.3 8l2.2-2.2-1.3-1.3L8 6.7 5.8 4.5Z"/>`,
	"suspended": `<path d="M1 1h14v14H1V1Zm4 3.5v7h2v-7H5Zm4 0v7h2v-7H9Z"/>`,
	"off":       `<path d="M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM3.6 12.4l8.8-8.8" fill="none" stroke="currentColor" stroke-width="1.6"/>`,
	"bridge":    `<path d="M0 11h16M3 4v9M13 4v9M0 10c2 0 3-3 3-5 1 3 3 4.5 5 4.5S12 8 13 5c0 2 1 5 3 5" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
}

// Icon returns an icon, which stands beside a word that says the same.
func Icon(name string) template.HTML {
	return template.HTML(`<svg viewBox="0 0 16 16" fill="currentColor" fill-rule="evenodd" aria-hidden="true" focusable="false">` + icons[name] + `</svg>`) //nolint:gosec // It is one of those above.
}
