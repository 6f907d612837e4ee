// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxProblems limits the problems that are listed for a document, and also its unknown fields:
	// nobody reads more, and a short document can have very many.
	MaxProblems = 100
	// maxText limits the bytes of a path and of a message. A document can have names that are
	// nearly as long as itself, with many problems below them.
	maxText = 512
)

// Problem is one problem in a document.
type Problem struct {
	// Path is the path of the value, such as transports[0].url; empty for the whole document.
	Path    string
	Message string
	// Unknown says that the field at the path is unknown, and has no other problem.
	Unknown bool
	// More ends a list: the number of further problems.
	More int
}

// String returns the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems collects problems. It keeps the first ones and counts the others. The zero value is
// empty.
type Problems struct {
	list []Problem
	// known and unknown are counted separately, so that unknown fields never hide problems of
	// known fields.
	known, unknown int
}

// Add adds a problem, or the number of further problems of another list.
func (p *Problems) Add(added Problem) {
	named := added.More == 0 && p.room(added.Unknown)
	*p.counter(added.Unknown) += max(added.More, 1)
	if named {
		added.Path, added.Message = clipped(added.Path), clipped(added.Message)
		p.list = append(p.list, added)
	}
}

// room reports whether the next problem is kept.
func (p *Problems) room(unknown bool) bool { return *p.counter(unknown) < MaxProblems }

func (p *Problems) counter(unknown bool) *int {
	if unknown {
		return &p.unknown
	}
	return &p.known
}

// List returns the kept problems in order. Its last entry counts the others.
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

// clipped shortens a text that is too long.
func clipped(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
