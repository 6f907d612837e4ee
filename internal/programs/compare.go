// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// Changes are what differs between two programs.
type Changes struct {
	From Program `json:"from"`
	To   Program `json:"to"`
	// Added, Removed and Changed have at most MaxPackages packages together, and More is how many
	// others there are. Unchanged is how many names have the same versions in both.
	Added     []bundle.Package `json:"added"`
	Removed   []bundle.Package `json:"removed"`
	Changed   []Change         `json:"changed"`
	Unchanged int              `json:"unchanged"`
	More      int              `json:"more,omitempty"`
}

// Change is a package of which the two have other versions, or other bytes of the same version.
type Change struct {
	Name string           `json:"name"`
	From []bundle.Package `json:"from"`
	To   []bundle.Package `json:"to"`
}

// Compare returns what differs between the packages of two records.
func Compare(from, to []bundle.Package) Changes {
	c := Changes{Added: []bundle.Package{}, Removed: []bundle.Package{}, Changed: []Change{}}
	before, after := byName(from), byName(to)
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, known := before[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	left := MaxPackages
	for _, name := range names {
		was, is := before[name], after[name]
		if slices.Equal(was, is) {
			c.Unchanged++
			continue
		}
		if left -= len(was) + len(is); left < 0 {
			left = 0
			c.More++
			continue
		}
		switch {
		case was == nil:
			c.Added = append(c.Added, is...)
		case is == nil:
			c.Removed = append(c.Removed, was...)
		default:
			c.Changed = append(c.Changed, Change{name, was, is})
		}
	}
	return c
}

// byName returns the packages of each name in the order of their versions.
func byName(packages []bundle.Package) map[string][]bundle.Package {
	found := map[string][]bundle.Package{}
	for _, p := range packages {
		found[p.Name] = append(found[p.Name], p)
	}
	return found
}
