// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage says how much the catalog is used: by the recipes that
// HostedBridges name, and by the calls to each server.
//
// Only Counter keeps time; the rest is pure.
package usage

import (
	"cmp"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// Installed summarizes the HostedBridges.
type Installed struct {
	// Users is how many users have one.
	Users int
	// Phases are how many bridges are in which phase.
	Phases map[v1alpha1.Phase]int

	bridges map[string]int // How many name a recipe.
	recipes map[server]string
}

// server is a user's server.
type server struct{ user, name string }

// Of summarizes these bridges. Bridges that are being deleted do not count. If
// several have the same user, only the recipes of the one that Precedes the
// others count; each counts in its phase.
func Of(bridges []*effective.Bridge) Installed {
	i := Installed{Phases: map[v1alpha1.Phase]int{}, bridges: map[string]int{}, recipes: map[server]string{}}
	owners := map[v1alpha1.UserID]*effective.Bridge{}
	for _, b := range bridges {
		if b.DeletionTimestamp != nil {
			continue
		}
		i.Phases[cmp.Or(b.Status.Phase, v1alpha1.PhasePending)]++
		if first := owners[b.User()]; first == nil || b.Precedes(first.HostedBridge) {
			owners[b.User()] = b
		}
	}
	i.Users = len(owners)
	for user, b := range owners {
		i.add(string(user), b.Spec.Servers)
	}
	return i
}

// add counts the recipes of a user's servers.
func (i Installed) add(user string, servers []effective.Server) {
	named := map[string]bool{}
	for _, s := range servers {
		if s.Recipe == nil {
			continue
		}
		i.recipes[server{user, s.Name}] = s.Recipe.Name
		named[s.Recipe.Name] = true
	}
	for recipe := range named {
		i.bridges[recipe]++
	}
}

// TopRecipes returns the n recipes with the most calls, of equal ones those that
// more bridges name. Calls count for the recipe that the user's bridge names for
// the server now.
func (i Installed) TopRecipes(uses []audit.Use, n int) []overview.RecipeCalls {
	sums := map[string]audit.Tally{}
	for _, u := range uses {
		if recipe, ok := i.recipes[server{u.UserID, u.Server}]; ok {
			sums[recipe] = sums[recipe].Add(u.Tally)
		}
	}
	top := make([]overview.RecipeCalls, 0, len(i.bridges))
	for recipe, bridges := range i.bridges {
		top = append(top, overview.RecipeCalls{Recipe: recipe, Bridges: bridges, Tally: sums[recipe]})
	}
	slices.SortFunc(top, func(a, b overview.RecipeCalls) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Bridges, a.Bridges), cmp.Compare(a.Recipe, b.Recipe))
	})
	return top[:min(n, len(top))]
}

// The popularity of a recipe: each bridge that names it counts PerBridge, and
// each of its calls counts one up to MaxCalls, so that no single user makes a
// recipe popular.
const (
	PerBridge = 100
	MaxCalls  = 900
)

// Popularity returns how popular each recipe is that a bridge names. The lists
// cover different times; a user's calls in all of them are added.
func (i Installed) Popularity(lists ...[]audit.Use) map[string]int64 {
	type install struct{ user, recipe string }
	calls := map[install]int64{}
	for _, uses := range lists {
		for _, u := range uses {
			if recipe, ok := i.recipes[server{u.UserID, u.Server}]; ok {
				calls[install{u.UserID, recipe}] += u.Calls
			}
		}
	}
	popularity := make(map[string]int64, len(i.bridges))
	for recipe, bridges := range i.bridges {
		popularity[recipe] = PerBridge * int64(bridges)
	}
	for of, n := range calls {
		popularity[of.recipe] += min(n, MaxCalls)
	}
	return popularity
}
