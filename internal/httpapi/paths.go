// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"regexp"
	"strings"
)

// Paths are the forms of the paths of a feature.
type Paths struct {
	longest int
	forms   []pathForm
	target  func(path string) (query *regexp.Regexp, ok bool)
}

// NewPaths returns those of a feature, from its routes unless it has Target.
func NewPaths(f Feature) Paths {
	p := Paths{longest: f.MaxPath, target: f.Target}
	if f.Target == nil {
		p.forms = formsOf(f)
	}
	return p
}

// Target reports whether a path, as it came over the wire, is the feature's, and
// which queries it takes.
func (p *Paths) Target(path string) (query *regexp.Regexp, anyQuery, ok bool) {
	if len(path) > p.longest {
		return nil, false, false
	}
	if p.target != nil {
		query, ok = p.target(path)
		return query, false, ok
	}
	for i := range p.forms {
		if form := &p.forms[i]; form.matches(path) {
			return form.query, form.anyQuery, true
		}
	}
	return nil, false, false
}

// pathForm is the form of one path.
type pathForm struct {
	path     *regexp.Regexp
	longest  []int // of each part, 0 for any
	query    *regexp.Regexp
	anyQuery bool
}

// formsOf returns the forms of a feature's paths, from its routes.
func formsOf(f Feature) []pathForm {
	var forms []pathForm
	known := map[string]bool{}
	for _, r := range f.Routes {
		if known[r.Path] {
			continue
		}
		known[r.Path] = true
		form := pathForm{query: r.Query, anyQuery: r.AnyQuery}
		var text strings.Builder
		for _, part := range strings.Split(r.Path, "/")[1:] {
			text.WriteByte('/')
			name, differs := strings.CutPrefix(part, ":")
			if !differs {
				text.WriteString(regexp.QuoteMeta(part))
				continue
			}
			p := f.Params[name]
			inner := regexp.MustCompile("(" + strings.Trim(p.Form, "^$") + ")")
			text.WriteString(inner.String())
			form.longest = append(form.longest, p.MaxLength)
			form.longest = append(form.longest, make([]int, inner.NumSubexp()-1)...)
		}
		form.path = regexp.MustCompile("^" + text.String() + "$")
		forms = append(forms, form)
	}
	return forms
}

func (p *pathForm) matches(path string) bool {
	parts := p.path.FindStringSubmatch(path)
	if parts == nil {
		return false
	}
	for i, longest := range p.longest {
		if longest > 0 && len(parts[i+1]) > longest {
			return false
		}
	}
	return true
}
