// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// problems collects what is wrong with a recipe: the first ones, of which there
// are as many as jsondoc names, and how many there are besides.
type problems struct {
	list []Problem
	// invalid has the fields that are said to be invalid.
	invalid map[string]bool
	more    int
}

// add adds a problem. A field is said to be invalid once: what does not fit often
// breaks a rule too.
func (p *problems) add(field string, code Code, format string, args ...any) {
	if code == CodeInvalid && p.invalid[field] {
		return
	}
	if len(p.list) == jsondoc.MaxProblems {
		p.more++
		return
	}
	if code == CodeInvalid {
		if p.invalid == nil {
			p.invalid = map[string]bool{}
		}
		p.invalid[field] = true
	}
	p.list = append(p.list, Problem{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

// take adds what was found with the format, or counts what that list only counts.
func (p *problems) take(found jsondoc.Problem, code Code, message string) {
	if found.More > 0 {
		p.more += found.More
		return
	}
	p.add(found.Path, code, "%s", message)
}

// all returns the problems. Where there are more, the last one says how many.
func (p *problems) all() []Problem {
	if p.more == 0 {
		return p.list
	}
	return append(slices.Clip(p.list), Problem{Code: CodeInvalid, Message: fmt.Sprintf("and %d more", p.more)})
}
