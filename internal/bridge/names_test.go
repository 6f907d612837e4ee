// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	type feature struct{ server, name string }
	tests := map[string]struct {
		in   []feature
		want []string
	}{
		"server and tool are joined by an underscore":        {[]feature{{"git", "log"}}, []string{"git_log"}},
		"hyphens and underscores stay":                       {[]feature{{"git-hub", "list_all"}}, []string{"git-hub_list_all"}},
		"everything else becomes an underscore":              {[]feature{{"my files", "a.b/c:é"}}, []string{"my_files_a_b_c__"}},
		"equal tools of two servers differ by the server":    {[]feature{{"a", "x"}, {"b", "x"}}, []string{"a_x", "b_x"}},
		"names that come out equal are numbered in order":    {[]feature{{"a_b", "c"}, {"a", "b_c"}, {"a.b", "c"}}, []string{"a_b_c", "a_b_c_2", "a_b_c_3"}},
		"a number that is taken is passed over":              {[]feature{{"a", "x"}, {"a", "x_2"}, {"a", "x"}}, []string{"a_x", "a_x_2", "a_x_3"}},
		"a later plain name yields to a numbered one":        {[]feature{{"a", "x"}, {"a", "x"}, {"a", "x_2"}}, []string{"a_x", "a_x_2", "a_x_2_2"}},
		"names that differ only in replaced characters part": {[]feature{{"a", "x.y"}, {"a", "x y"}}, []string{"a_x_y", "a_x_y_2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n namer
			var got []string
			for _, f := range tt.in {
				got = append(got, n.name(f.server, f.name))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}
