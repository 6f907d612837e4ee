// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// named returns the names that the register assigns.
func namesOf(r *Registry, rule bridgeconfig.Prefix, features []Feature) []string {
	names := []string{}
	for _, n := range r.assign(Naming{Prefix: rule, Longest: bridgeconfig.LongestToolName}, features) {
		names = append(names, n.Name)
	}
	return names
}

func TestNames(t *testing.T) {
	const always, auto, never = bridgeconfig.PrefixAlways, bridgeconfig.PrefixAuto, bridgeconfig.PrefixNever
	long := strings.Repeat("x", 70)
	tests := map[string]struct {
		rule bridgeconfig.Prefix
		in   []Feature
		want []string
	}{
		"server and tool are joined by an underscore":             {always, []Feature{{"git", "log"}}, []string{"git_log"}},
		"no rule is the rule always":                              {"", []Feature{{"git", "log"}}, []string{"git_log"}},
		"hyphens and underscores stay":                            {always, []Feature{{"git-hub", "list_all"}}, []string{"git-hub_list_all"}},
		"everything else becomes an underscore":                   {always, []Feature{{"my files", "a.b/c:é"}}, []string{"my_files_a_b_c__"}},
		"equal tools of two servers differ by the server":         {always, []Feature{{"a", "x"}, {"b", "x"}}, []string{"a_x", "b_x"}},
		"names that come out equal are numbered in order":         {always, []Feature{{"a_b", "c"}, {"a", "b_c"}, {"a.b", "c"}}, []string{"a_b_c", "a_b_c_2", "a_b_c_3"}},
		"a number that is taken is passed over":                   {always, []Feature{{"a", "x"}, {"a", "x_2"}, {"a", "x"}}, []string{"a_x", "a_x_2", "a_x_3"}},
		"a later plain name yields to a numbered one":             {always, []Feature{{"a", "x"}, {"a", "x"}, {"a", "x_2"}}, []string{"a_x", "a_x_2", "a_x_2_2"}},
		"names that differ only in replaced characters part":      {always, []Feature{{"a", "x.y"}, {"a", "x y"}}, []string{"a_x_y", "a_x_y_2"}},
		"auto leaves what one server has":                         {auto, []Feature{{"a", "x"}, {"b", "y"}}, []string{"x", "y"}},
		"auto prefixes what two have, for both":                   {auto, []Feature{{"a", "x"}, {"a", "y"}, {"b", "x"}}, []string{"a_x", "y", "b_x"}},
		"auto sees names that come out equal":                     {auto, []Feature{{"a", "x.y"}, {"b", "x_y"}}, []string{"a_x_y", "b_x_y"}},
		"auto numbers what one server has twice":                  {auto, []Feature{{"a", "x.y"}, {"a", "x_y"}}, []string{"x_y", "x_y_2"}},
		"auto numbers a prefixed name that is another's raw one":  {auto, []Feature{{"c", "a_x"}, {"a", "x"}, {"b", "x"}}, []string{"a_x", "a_x_2", "b_x"}},
		"never numbers in the order of configuration":             {never, []Feature{{"a", "x"}, {"b", "x"}, {"c", "x"}}, []string{"x", "x_2", "x_3"}},
		"a name that is too long ends in a hash":                  {always, []Feature{{"a", long}}, []string{"a_" + strings.Repeat("x", 53) + "_3c165f24"}},
		"equal long names without a prefix are numbered at 64":    {never, []Feature{{"a", long}, {"b", long}}, []string{strings.Repeat("x", 55) + "_77f3c97d", strings.Repeat("x", 55) + "_77f3c9_2"}},
		"a name of 64 stays":                                      {never, []Feature{{"a", long[:64]}}, []string{long[:64]}},
		"long names with the same beginning differ by their hash": {never, []Feature{{"a", long + "1"}, {"a", long + "2"}}, []string{strings.Repeat("x", 55) + "_20c5e2a4", strings.Repeat("x", 55) + "_23c5e75d"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := namesOf(NewRegistry(), tt.rule, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			for _, n := range got {
				if len(n) > bridgeconfig.LongestToolName {
					t.Errorf("%s has %d characters", n, len(n))
				}
			}
		})
	}
}

// TestANameNeverComesToMeanAnother shows clients one state of the servers after
// another, in which servers come late and stop listing tools.
func TestANameNeverComesToMeanAnother(t *testing.T) {
	ax, bx, cx, ay := Feature{"a", "x"}, Feature{"b", "x"}, Feature{"c", "x"}, Feature{"a", "y"}
	type state struct {
		listed []Feature
		want   []string
	}
	tests := map[string]struct {
		rule   bridgeconfig.Prefix
		states []state
	}{
		"with always, a server that comes late gets another name than the one that was there": {bridgeconfig.PrefixAlways, []state{
			{[]Feature{{"a", "b_c"}}, []string{"a_b_c"}},
			{[]Feature{{"a_b", "c"}, {"a", "b_c"}}, []string{"a_b_c_2", "a_b_c"}},
		}},
		"with never, so it does, and keeps it when it is alone": {bridgeconfig.PrefixNever, []state{
			{[]Feature{bx}, []string{"x"}},
			{[]Feature{ax, bx}, []string{"x_2", "x"}},
			{[]Feature{ax}, []string{"x_2"}},
			{[]Feature{ax, bx, cx}, []string{"x_2", "x", "x_3"}},
		}},
		"with auto, a name that two had is nobody's any more": {bridgeconfig.PrefixAuto, []state{
			{[]Feature{ax, ay}, []string{"x", "y"}},
			{[]Feature{ax, ay, bx}, []string{"a_x", "y", "b_x"}},
			{[]Feature{bx}, []string{"b_x"}},
			{[]Feature{ax}, []string{"a_x"}},
		}},
		"with auto, the tool that another server lists later is not called by the first one's name": {bridgeconfig.PrefixAuto, []state{
			{[]Feature{ax}, []string{"x"}},
			{[]Feature{bx}, []string{"x_2"}},
			{[]Feature{ax, bx}, []string{"a_x", "b_x"}},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := NewRegistry()
			meaning := map[string]Feature{}
			for i, s := range tt.states {
				namings := r.assign(Naming{Prefix: tt.rule, Longest: bridgeconfig.LongestToolName}, s.listed)
				if diff := cmp.Diff(s.want, namesOf(r, tt.rule, s.listed)); diff != "" {
					t.Errorf("state %d (-want +got):\n%s", i, diff)
				}
				for _, n := range namings {
					if before, ok := meaning[n.Name]; ok && before != n.Feature {
						t.Errorf("state %d: %s meant %v and means %v", i, n.Name, before, n.Feature)
					}
					meaning[n.Name] = n.Feature
					r.MarkSeen(n)
				}
			}
		})
	}
}

func TestNamesBeforeClientsSawAnyFollowFromTheListsAlone(t *testing.T) {
	r := NewRegistry()
	r.assign(Naming{Prefix: bridgeconfig.PrefixNever, Longest: bridgeconfig.LongestToolName}, []Feature{{"b", "x"}}) // b was reached first
	want := []string{"x", "x_2"}
	if diff := cmp.Diff(want, namesOf(r, bridgeconfig.PrefixNever, []Feature{{"a", "x"}, {"b", "x"}})); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestARemovedServerGivesUpItsNames(t *testing.T) {
	r := NewRegistry()
	for _, n := range r.assign(Naming{Prefix: bridgeconfig.PrefixAuto, Longest: bridgeconfig.LongestToolName}, []Feature{{"a", "x"}, {"b", "x"}, {"a", "y"}}) {
		r.MarkSeen(n)
	}
	r.Release(func(server string) bool { return server == "a" })
	want := []string{"x", "y"}
	if diff := cmp.Diff(want, namesOf(r, bridgeconfig.PrefixAuto, []Feature{{"b", "x"}, {"c", "y"}})); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestManyEqualNamesAreNumberedInReasonableTime(t *testing.T) {
	features := make([]Feature, 50_000)
	for i := range features {
		features[i] = Feature{"a", "x"}
	}
	names := namesOf(NewRegistry(), bridgeconfig.PrefixNever, features)
	if got, want := names[len(names)-1], "x_"+strconv.Itoa(len(features)); got != want {
		t.Errorf("the last name is %s, want %s", got, want)
	}
}

func TestTheReportOfCollisionsIsBounded(t *testing.T) {
	l := Layout{Naming: Naming{Prefix: bridgeconfig.PrefixNever, Longest: bridgeconfig.LongestToolName}, Registers: NewRegistries()}
	for range 2 {
		u := upstream.New(t.Context(), bridgeconfig.Server{Name: "s"}, upstream.Options{Log: slog.New(slog.DiscardHandler)})
		for i := range 50 {
			name := string(rune('A'+i%26)) + string(rune('a'+i/26))
			u.Lists.Lists[methods.ListTools] = append(u.Lists.Lists[methods.ListTools], upstream.Item{Key: name, Raw: []byte(`{"name":"` + name + `"}`)})
		}
		l.Servers = append(l.Servers, u)
	}
	c := l.Build()
	if len(c.Renamed) != maxRenamed || len(c.Lists[methods.ListTools]) != 100 {
		t.Errorf("%d of %d tools are reported", len(c.Renamed), len(c.Lists[methods.ListTools]))
	}
}

func TestANameMayBelongToTheServerWhoseNameItBeginsWith(t *testing.T) {
	long := strings.Repeat("s", 64)
	for name, tt := range map[string]struct {
		server, name string
		want         bool
	}{
		"its prefix":                {"my files", "my_files_read", true},
		"a part of its name":        {"files", "file_read", false},
		"its name without a tool's": {"files", "files", false},
		"another server":            {"files", "git_read", false},
		"a name that is cut":        {long, namesOf(NewRegistry(), "", []Feature{{long, "read"}})[0], true},
		"another name that is cut":  {long, namesOf(NewRegistry(), "", []Feature{{strings.Repeat("t", 64), "read"}})[0], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Naming{Longest: bridgeconfig.LongestToolName}).Prefixes(tt.server, tt.name); got != tt.want {
				t.Errorf("%q of %q: %v", tt.name, tt.server, got)
			}
		})
	}
}

func TestTheServerThatWasAloneKeepsItsNames(t *testing.T) {
	long := strings.Repeat("x", 100)
	for rule, want := range map[bridgeconfig.Prefix][]string{
		bridgeconfig.PrefixAlways: {"x", "a b.c", long, "two_y", "two_x", "two_y_2"},
		bridgeconfig.PrefixAuto:   {"x", "a b.c", long, "two_y", "two_x", "y"},
		bridgeconfig.PrefixNever:  {"x", "a b.c", long, "two_y", "x_2", "y"},
	} {
		naming := Naming{Prefix: rule, Longest: 44, Unprefixed: "one"}
		var names []string
		for _, n := range NewRegistry().assign(naming, []Feature{{"one", "x"}, {"one", "a b.c"}, {"one", long}, {"one", "two_y"}, {"two", "x"}, {"two", "y"}}) {
			names = append(names, n.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
}
