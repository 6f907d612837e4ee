// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// collector collects the problems of a recipe: the first ones, as many as
// jsondoc names, and the number of the others.
type collector struct {
	list []catalog.Problem
	// invalid has the fields that were reported as invalid.
	invalid map[string]bool
	more    int
}

// add adds a problem. A field is reported as invalid once: a value that does
// not fit the format often breaks a rule too.
func (p *collector) add(field string, code catalog.Code, format string, args ...any) {
	if code == catalog.CodeInvalid && p.invalid[field] {
		return
	}
	if len(p.list) == jsondoc.MaxProblems {
		p.more++
		return
	}
	if code == catalog.CodeInvalid {
		if p.invalid == nil {
			p.invalid = map[string]bool{}
		}
		p.invalid[field] = true
	}
	p.list = append(p.list, catalog.Problem{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

// addFound adds a problem with the format, or counts the ones that the list
// only counts.
func (p *collector) addFound(found jsondoc.Problem, code catalog.Code, message string) {
	if found.More > 0 {
		p.more += found.More
		return
	}
	p.add(found.Path, code, "%s", message)
}

// all returns the problems. If there are more, the last one says how many.
func (p *collector) all() []catalog.Problem {
	if p.more == 0 {
		return p.list
	}
	return append(slices.Clip(p.list), catalog.Problem{Code: catalog.CodeInvalid, Message: fmt.Sprintf("and %d more", p.more)})
}
