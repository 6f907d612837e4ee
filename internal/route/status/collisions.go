// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

const (
	// maxCollisions and maxCollision are what status.collisions takes: entries,
	// and bytes of each.
	maxCollisions, maxCollision = 16, 512
	// maxName is how much of a feature's name is shown, in bytes.
	maxName = 128
)

// featureKinds are the features that are told of.
var featureKinds = []string{"tool", "prompt", "resource", "resource template"}

// serverNameForm is how a server's name looks in a manifest or another tool's
// configuration.
var serverNameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$`)

// collisions returns which names several servers give, as the status has them:
// one entry for each, in order. A report is a tenant's pod's word, so nothing
// of it is taken that is of another form, and no more than the status holds.
func collisions(renamed []health.Renamed) []string {
	servers := map[string][]string{}
	for _, r := range renamed {
		if !slices.Contains(featureKinds, r.Kind) || !serverNameForm.MatchString(r.Server) {
			continue
		}
		what := fmt.Sprintf("%s %q", r.Kind, truncate(r.Original, maxName))
		if !slices.Contains(servers[what], r.Server) {
			servers[what] = append(servers[what], r.Server)
		}
	}
	var entries []string
	for _, what := range slices.Sorted(maps.Keys(servers)) {
		slices.Sort(servers[what])
		entries = append(entries, truncate(what+": "+strings.Join(servers[what], ", "), maxCollision))
	}
	if more := len(entries) - maxCollisions + 1; more > 1 {
		entries = append(entries[:maxCollisions-1], fmt.Sprintf("and %d more", more))
	}
	return entries
}

// truncate returns at most n bytes of s, in whole characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) && n > 0 {
		n--
	}
	return s[:n]
}
