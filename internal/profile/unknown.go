// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/similar"
)

// maxNearest is how many similar names are suggested.
const maxNearest = 3

// KnownGroups returns the names of all groups that profiles, SharedServers and directories have, of any
// issuer, each once and in order.
func KnownGroups(profiles []v1alpha1.BridgeProfile, shared []v1alpha1.SharedServer, directories []v1alpha1.BridgeGroup) []string {
	var known []string
	for i := range profiles {
		for _, g := range profiles[i].Spec.Who.Groups {
			known = append(known, g.Value)
		}
	}
	for i := range shared {
		for _, g := range shared[i].Spec.Members {
			known = append(known, g.Value)
		}
	}
	for i := range directories {
		known = append(known, directories[i].Spec.Value)
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// UnknownGroups says which groups of a list nothing else names, and which known ones look alike. It is
// empty if all are known.
func UnknownGroups(groups, known []string) string {
	var said []string
	for _, g := range groups {
		if slices.Contains(known, g) {
			continue
		}
		text := fmt.Sprintf("%q", g)
		if near := nearest(g, known); len(near) > 0 {
			text += " (did you mean " + strings.Join(near, " or ") + "?)"
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

// nearest returns the names that differ from name in at most a third of its characters, the most
// similar first.
func nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, k := range known {
		if d := similar.Distance(strings.ToLower(name), strings.ToLower(k)); d <= max(1, len([]rune(name))/3) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Or(a.distance-b.distance, cmp.Compare(a.name, b.name)) })
	var names []string
	for _, c := range near[:min(len(near), maxNearest)] {
		names = append(names, c.name)
	}
	return names
}
