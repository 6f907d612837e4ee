// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import "testing"

func TestAGroupThatNothingNamesHasSuggestions(t *testing.T) {
	t.Parallel()
	known := []string{"Data", "newcomer-team", "newcomer-teams", "ops"}
	for name, tt := range map[string]struct {
		groups []string
		want   string
	}{
		"all are known":           {[]string{"ops", "newcomer-team"}, ""},
		"none":                    {nil, ""},
		"letters are exchanged":   {[]string{"newcomer-taem"}, `"newcomer-taem" (did you mean newcomer-team or newcomer-teams?)`},
		"another case":            {[]string{"data"}, `"data" (did you mean Data?)`},
		"one of two, and nothing": {[]string{"finance", "oops"}, `"finance", "oops" (did you mean ops?)`},
		"an empty name":           {[]string{""}, `""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := UnknownGroups(tt.groups, known); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
