// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The limits. Beyond them a reader cannot hold a type in mind. Packages have none: a limit of lines
// is met by cutting a subject in two, and then each change touches both halves. Read what locality
// says instead.
const (
	maxMethods = 25
	maxFields  = 15
)

// wide are the types that may have more fields beside documents: options, which
// flags fill, and the one value that holds all that is known of a request.
var wide = regexp.MustCompile(`\.options$|Options$|\.Config$|^internal/ingress\.request$`)

// problems returns a sentence for each limit that is exceeded.
func (m *module) problems() []string {
	var found []string
	for name, size := range m.types {
		if size.methods > maxMethods {
			found = append(found, fmt.Sprintf("type %s has %d methods, more than %d: divide it", name, size.methods, maxMethods))
		}
		if size.fields > maxFields && !size.document && !wide.MatchString(name.String()) {
			found = append(found, fmt.Sprintf("type %s has %d fields, more than %d: divide it", name, size.fields, maxFields))
		}
	}
	for _, circle := range m.circles() {
		found = append(found, "these folders import each other: "+strings.Join(circle, " → "))
	}
	for _, place := range m.sleeps {
		found = append(found, place+": a test sleeps: wait for a state (test/wait), or sleep in a bubble of testing/synctest")
	}
	slices.Sort(found)
	return found
}

// summary returns the figures, a line each.
func (m *module) summary() []string {
	total := 0
	for _, lines := range m.lines {
		total += lines
	}
	byLines := func(a, b string) int { return cmp.Compare(m.lines[b], m.lines[a]) }
	byMethods := func(a, b typeName) int { return cmp.Compare(m.types[b].methods, m.types[a].methods) }
	byFields := func(a, b typeName) int { return cmp.Compare(m.types[b].fields, m.types[a].fields) }
	return []string{
		fmt.Sprintf("%d lines in %d packages, %d of them code", total, len(m.lines), m.codeSize),
		largest("largest packages", slices.SortedFunc(maps.Keys(m.lines), byLines), func(p string) int { return m.lines[p] }),
		largest("most methods", slices.SortedFunc(maps.Keys(m.types), byMethods), func(t typeName) int { return m.types[t].methods }),
		largest("most fields", slices.SortedFunc(maps.Keys(m.types), byFields), func(t typeName) int { return m.types[t].fields }),
		fmt.Sprintf("function names of one word: %d %% of %d", 100*m.oneWord/max(m.names, 1), m.names),
	}
}

func largest[T any](title string, sorted []T, size func(T) int) string {
	var items []string
	for _, item := range sorted[:min(5, len(sorted))] {
		items = append(items, fmt.Sprintf("%v %d", item, size(item)))
	}
	return title + ": " + strings.Join(items, ", ")
}

// circles returns folders of one parent that import each other, directly or by
// others, each circle once. An import counts for the two folders in which the
// paths of the packages begin to differ, so that a circle shows even where the
// packages in it have none.
func (m *module) circles() [][]string {
	edges := map[string][]string{}
	for _, from := range slices.Sorted(maps.Keys(m.imports)) {
		for _, to := range slices.Sorted(maps.Keys(m.imports[from])) {
			if a, b := divergence(from, to); a != b && !slices.Contains(edges[a], b) {
				edges[a] = append(edges[a], b)
			}
		}
	}
	var found [][]string
	seen := map[string]bool{}
	for _, start := range slices.Sorted(maps.Keys(edges)) {
		if seen[start] {
			continue
		}
		if circle := pathBetween(edges, start, start, map[string]bool{}); circle != nil {
			for _, folder := range circle {
				seen[folder] = true
			}
			found = append(found, append([]string{start}, circle...))
		}
	}
	return found
}

// divergence returns the folders at which the paths a and b part, or "" twice
// where one is below the other.
func divergence(a, b string) (string, string) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return path.Join(as[:i+1]...), path.Join(bs[:i+1]...)
		}
	}
	return "", ""
}

// pathBetween returns the folders after from on a way to the folder to, nil where
// there is no way.
func pathBetween(edges map[string][]string, from, to string, visited map[string]bool) []string {
	for _, next := range edges[from] {
		if next == to {
			return []string{to}
		}
		if visited[next] {
			continue
		}
		visited[next] = true
		if rest := pathBetween(edges, next, to, visited); rest != nil {
			return append([]string{next}, rest...)
		}
	}
	return nil
}
