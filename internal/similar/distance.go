// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package similar compares names, so that an error can offer the one that may be meant by a
// mistyped one.
//
// The package is pure.
package similar

// Distance returns how many characters have to be added, removed, replaced, or exchanged with their
// neighbour to make b of a.
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, last := []int(nil), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := range from {
		row := make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			differs := 1
			if from[i] == to[j] {
				differs = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+differs)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(to)]
}
