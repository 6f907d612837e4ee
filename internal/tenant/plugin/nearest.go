// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/similar"
)

// maxLike is how many names an error offers.
const maxLike = 3

// nearest returns the names that may be meant by a mistyped one, empty if none is like it.
func nearest(name string, of []string) string {
	type like struct {
		name     string
		distance int
	}
	var near []like
	for _, n := range slices.Compact(slices.Sorted(slices.Values(of))) {
		d := similar.Distance(name, n)
		if d <= max(1, len(name)/3) || len(name) > 2 && strings.Contains(n, name) {
			near = append(near, like{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b like) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, l := range near[:min(len(near), maxLike)] {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}
