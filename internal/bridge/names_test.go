// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// named returns the names that the register assigns.
func namesOf(r *register, rule config.Prefix, features []feature) []string {
	names := []string{}
	for _, n := range r.assign(rule, features) {
		names = append(names, n.name)
	}
	return names
}

func TestNames(t *testing.T) {
	const always, auto, never = config.PrefixAlways, config.PrefixAuto, config.PrefixNever
	long := strings.Repeat("x", 70)
	tests := map[string]struct {
		rule config.Prefix
		in   []feature
		want []string
	}{
		"server and tool are joined by an underscore":             {always, []feature{{"git", "log"}}, []string{"git_log"}},
		"no rule is the rule always":                              {"", []feature{{"git", "log"}}, []string{"git_log"}},
		"hyphens and underscores stay":                            {always, []feature{{"git-hub", "list_all"}}, []string{"git-hub_list_all"}},
		"everything else becomes an underscore":                   {always, []feature{{"my files", "a.b/c:é"}}, []string{"my_files_a_b_c__"}},
		"equal tools of two servers differ by the server":         {always, []feature{{"a", "x"}, {"b", "x"}}, []string{"a_x", "b_x"}},
		"names that come out equal are numbered in order":         {always, []feature{{"a_b", "c"}, {"a", "b_c"}, {"a.b", "c"}}, []string{"a_b_c", "a_b_c_2", "a_b_c_3"}},
		"a number that is taken is passed over":                   {always, []feature{{"a", "x"}, {"a", "x_2"}, {"a", "x"}}, []string{"a_x", "a_x_2", "a_x_3"}},
		"a later plain name yields to a numbered one":             {always, []feature{{"a", "x"}, {"a", "x"}, {"a", "x_2"}}, []string{"a_x", "a_x_2", "a_x_2_2"}},
		"names that differ only in replaced characters part":      {always, []feature{{"a", "x.y"}, {"a", "x y"}}, []string{"a_x_y", "a_x_y_2"}},
		"auto leaves what one server has":                         {auto, []feature{{"a", "x"}, {"b", "y"}}, []string{"x", "y"}},
		"auto prefixes what two have, for both":                   {auto, []feature{{"a", "x"}, {"a", "y"}, {"b", "x"}}, []string{"a_x", "y", "b_x"}},
		"auto sees names that come out equal":                     {auto, []feature{{"a", "x.y"}, {"b", "x_y"}}, []string{"a_x_y", "b_x_y"}},
		"auto numbers what one server has twice":                  {auto, []feature{{"a", "x.y"}, {"a", "x_y"}}, []string{"x_y", "x_y_2"}},
		"auto numbers a prefixed name that is another's raw one":  {auto, []feature{{"c", "a_x"}, {"a", "x"}, {"b", "x"}}, []string{"a_x", "a_x_2", "b_x"}},
		"never numbers in the order of configuration":             {never, []feature{{"a", "x"}, {"b", "x"}, {"c", "x"}}, []string{"x", "x_2", "x_3"}},
		"a name that is too long ends in a hash":                  {always, []feature{{"a", long}}, []string{"a_" + strings.Repeat("x", 53) + "_3c165f24"}},
		"equal long names without a prefix are numbered at 64":    {never, []feature{{"a", long}, {"b", long}}, []string{strings.Repeat("x", 55) + "_77f3c97d", strings.Repeat("x", 55) + "_77f3c9_2"}},
		"a name of 64 stays":                                      {never, []feature{{"a", long[:64]}}, []string{long[:64]}},
		"long names with the same beginning differ by their hash": {never, []feature{{"a", long + "1"}, {"a", long + "2"}}, []string{strings.Repeat("x", 55) + "_20c5e2a4", strings.Repeat("x", 55) + "_23c5e75d"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := namesOf(newRegister(), tt.rule, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			for _, n := range got {
				if len(n) > maxName {
					t.Errorf("%s has %d characters", n, len(n))
				}
			}
		})
	}
}

// TestANameNeverComesToMeanAnother shows clients one state of the servers after
// another, in which servers come late and stop listing tools.
func TestANameNeverComesToMeanAnother(t *testing.T) {
	ax, bx, cx, ay := feature{"a", "x"}, feature{"b", "x"}, feature{"c", "x"}, feature{"a", "y"}
	type state struct {
		listed []feature
		want   []string
	}
	tests := map[string]struct {
		rule   config.Prefix
		states []state
	}{
		"with always, a server that comes late gets another name than the one that was there": {config.PrefixAlways, []state{
			{[]feature{{"a", "b_c"}}, []string{"a_b_c"}},
			{[]feature{{"a_b", "c"}, {"a", "b_c"}}, []string{"a_b_c_2", "a_b_c"}},
		}},
		"with never, so it does, and keeps it when it is alone": {config.PrefixNever, []state{
			{[]feature{bx}, []string{"x"}},
			{[]feature{ax, bx}, []string{"x_2", "x"}},
			{[]feature{ax}, []string{"x_2"}},
			{[]feature{ax, bx, cx}, []string{"x_2", "x", "x_3"}},
		}},
		"with auto, a name that two had is nobody's any more": {config.PrefixAuto, []state{
			{[]feature{ax, ay}, []string{"x", "y"}},
			{[]feature{ax, ay, bx}, []string{"a_x", "y", "b_x"}},
			{[]feature{bx}, []string{"b_x"}},
			{[]feature{ax}, []string{"a_x"}},
		}},
		"with auto, the tool that another server lists later is not called by the first one's name": {config.PrefixAuto, []state{
			{[]feature{ax}, []string{"x"}},
			{[]feature{bx}, []string{"x_2"}},
			{[]feature{ax, bx}, []string{"a_x", "b_x"}},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegister()
			meaning := map[string]feature{}
			for i, s := range tt.states {
				namings := r.assign(tt.rule, s.listed)
				if diff := cmp.Diff(s.want, namesOf(r, tt.rule, s.listed)); diff != "" {
					t.Errorf("state %d (-want +got):\n%s", i, diff)
				}
				for _, n := range namings {
					if before, ok := meaning[n.name]; ok && before != n.feature {
						t.Errorf("state %d: %s meant %v and means %v", i, n.name, before, n.feature)
					}
					meaning[n.name] = n.feature
					r.show(n)
				}
			}
		})
	}
}

func TestNamesBeforeClientsSawAnyFollowFromTheListsAlone(t *testing.T) {
	r := newRegister()
	r.assign(config.PrefixNever, []feature{{"b", "x"}}) // b was reached first
	want := []string{"x", "x_2"}
	if diff := cmp.Diff(want, namesOf(r, config.PrefixNever, []feature{{"a", "x"}, {"b", "x"}})); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestARemovedServerGivesUpItsNames(t *testing.T) {
	r := newRegister()
	for _, n := range r.assign(config.PrefixAuto, []feature{{"a", "x"}, {"b", "x"}, {"a", "y"}}) {
		r.show(n)
	}
	r.release(func(server string) bool { return server == "a" })
	want := []string{"x", "y"}
	if diff := cmp.Diff(want, namesOf(r, config.PrefixAuto, []feature{{"b", "x"}, {"c", "y"}})); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestManyEqualNamesAreNumberedInReasonableTime(t *testing.T) {
	features := make([]feature, 50_000)
	for i := range features {
		features[i] = feature{"a", "x"}
	}
	names := namesOf(newRegister(), config.PrefixNever, features)
	if got, want := names[len(names)-1], "x_"+strconv.Itoa(len(features)); got != want {
		t.Errorf("the last name is %s, want %s", got, want)
	}
}
