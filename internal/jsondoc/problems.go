// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxProblems is how many problems are named of a document, and how many
	// fields that are unknown: nobody reads more, and a short document can have
	// very many.
	MaxProblems = 100
	// maxText is how many bytes of a path and of a message are kept. A document
	// can have names that are nearly as long as itself, with many problems below.
	maxText = 512
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Path is where, such as transports[0].url; empty for the whole document.
	Path    string
	Message string
	// Unknown says that the path is one that the reader does not know, and no
	// more is wrong with it.
	Unknown bool
	// More is for the end of a list: how many there are beyond those in it.
	More int
}

// String returns the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems collects problems, of which it keeps the first ones and counts the
// others. The zero value has none.
type Problems struct {
	list []Problem
	// known and unknown are counted apart, so that no number of unknown fields
	// hides what is wrong with the known ones.
	known, unknown int
}

// Add adds a problem, or the count of those that another list does not name.
func (p *Problems) Add(added Problem) {
	named := added.More == 0 && p.room(added.Unknown)
	*p.counter(added.Unknown) += max(added.More, 1)
	if named {
		added.Path, added.Message = clipped(added.Path), clipped(added.Message)
		p.list = append(p.list, added)
	}
}

// room reports whether the next problem is named.
func (p *Problems) room(unknown bool) bool { return *p.counter(unknown) < MaxProblems }

func (p *Problems) counter(unknown bool) *int {
	if unknown {
		return &p.unknown
	}
	return &p.known
}

// List returns the problems in the order in which they came. Those that are not
// named are counted at its end.
func (p *Problems) List() []Problem {
	list := p.list
	named := map[bool]int{}
	for _, l := range list {
		named[l.Unknown]++
	}
	for _, rest := range []struct {
		of      string
		more    int
		unknown bool
	}{{"and %d more", p.known - named[false], false}, {"and %d more unknown fields", p.unknown - named[true], true}} {
		if rest.more > 0 {
			list = append(slices.Clip(list), Problem{Message: fmt.Sprintf(rest.of, rest.more), Unknown: rest.unknown, More: rest.more})
		}
	}
	return list
}

// clipped returns the beginning of a text that is too long.
func clipped(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
