// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// bridge returns one with servers such as "gh=github", name and recipe; without
// a recipe "own=".
func bridge(user string, servers ...string) *effective.Bridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: user, CreationTimestamp: metav1.NewTime(time.Unix(1000, 0))}}
	b.Status.Phase = v1alpha1.PhaseRunning
	for _, s := range servers {
		name, recipe, _ := strings.Cut(s, "=")
		added := v1alpha1.Server{Name: name}
		if recipe != "" {
			added.Recipe = &v1alpha1.RecipeReference{Name: recipe}
		}
		b.Spec.Servers = append(b.Spec.Servers, added)
	}
	return effective.Of(b)
}

func with(b *effective.Bridge, change func(*effective.Bridge)) *effective.Bridge {
	change(b)
	return b
}

func use(user, server string, calls, errors int64) audit.Use {
	return audit.Use{UserID: user, Server: server, Tally: audit.Tally{Calls: calls, Errors: errors}}
}

func TestWhatBridgesHave(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(2000, 0))
	i := Of([]*effective.Bridge{
		bridge("alice", "gh=github", "gh2=github", "own="),
		with(bridge("bob", "gh=github"), func(b *effective.Bridge) { b.Status.Phase = "" }),
		with(bridge("carol", "gh=github"), func(b *effective.Bridge) { b.DeletionTimestamp = &deleted }),
		with(bridge("another", "fetch=fetch"), func(b *effective.Bridge) {
			b.HostedBridge.Spec.UserID, b.CreationTimestamp, b.Status.Phase = "alice", metav1.NewTime(time.Unix(1001, 0)), v1alpha1.PhaseFailed
		}),
	})
	if i.Users != 2 {
		t.Errorf("%d users", i.Users)
	}
	phases := map[v1alpha1.Phase]int{v1alpha1.PhaseRunning: 1, v1alpha1.PhasePending: 1, v1alpha1.PhaseFailed: 1}
	if diff := cmp.Diff(phases, i.Phases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]overview.RecipeCalls{{Recipe: "github", Bridges: 2}}, i.TopRecipes(nil, 10)); diff != "" {
		t.Errorf("a bridge that is not the user's counts:\n%s", diff)
	}
}

func TestTopRecipes(t *testing.T) {
	i := Of([]*effective.Bridge{
		bridge("alice", "gh=github", "work=github", "own=", "f=fetch"), bridge("bob", "gh=github", "own=time", "s=search"), bridge("carol", "s=search"),
	})
	uses := []audit.Use{
		use("alice", "gh", 5, 1), use("alice", "work", 3, 0), use("bob", "gh", 2, 1), // One recipe of three servers.
		use("alice", "own", 1000, 0),                                                                      // Of no recipe.
		use("bob", "own", 20, 2),                                                                          // Of the same name as that one, and of a recipe.
		use("alice", "removed", 7, 0), use("dave", "gh", 9, 0), use("", "gh", 9, 0), use("bob", "", 9, 0), // Of none that is named now.
	}
	want := []overview.RecipeCalls{
		{Recipe: "time", Bridges: 1, Tally: audit.Tally{Calls: 20, Errors: 2}}, {Recipe: "github", Bridges: 2, Tally: audit.Tally{Calls: 10, Errors: 2}},
		{Recipe: "search", Bridges: 2, Tally: audit.Tally{}}, {Recipe: "fetch", Bridges: 1, Tally: audit.Tally{}}, // Of those without calls the one that more name is first.
	}
	if diff := cmp.Diff(want, i.TopRecipes(uses, 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:2], i.TopRecipes(uses, 2)); diff != "" {
		t.Error(diff)
	}
}

func TestPopularity(t *testing.T) {
	i := Of([]*effective.Bridge{
		bridge("alice", "gh=github", "work=github"), bridge("bob", "gh=github", "s=search"), bridge("carol", "s=search"), bridge("dave", "f=fetch"),
	})
	for name, test := range map[string]struct {
		lists [][]audit.Use
		want  map[string]int64
	}{
		"without calls bridges count": {nil, map[string]int64{"github": 200, "search": 200, "fetch": 100}},
		"calls count each":            {[][]audit.Use{{use("bob", "s", 5, 5), use("carol", "s", 7, 0)}}, map[string]int64{"github": 200, "search": 212, "fetch": 100}},
		"one user's calls count so far, all servers of the recipe together": {
			[][]audit.Use{{use("alice", "gh", 800, 0), use("alice", "work", 1_000_000, 0)}}, map[string]int64{"github": 1100, "search": 200, "fetch": 100},
		},
		"calls of several times are added before they are bounded": {
			[][]audit.Use{{use("dave", "f", 600, 0)}, {use("dave", "f", 600, 0)}}, map[string]int64{"github": 200, "search": 200, "fetch": 1000},
		},
		"calls of others are nobody's": {[][]audit.Use{{use("eve", "gh", 5, 0), use("alice", "s", 5, 0)}}, map[string]int64{"github": 200, "search": 200, "fetch": 100}},
	} {
		if diff := cmp.Diff(test.want, i.Popularity(test.lists...)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if got := Of(nil).Popularity([]audit.Use{use("a", "b", 1, 0)}); len(got) != 0 {
		t.Errorf("of nobody: %v", got)
	}
}
