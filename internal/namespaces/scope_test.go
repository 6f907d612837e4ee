// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/setting"
)

func TestNamesAreValidated(t *testing.T) {
	for name, tt := range map[string]struct {
		namespaces Set
		want       string // Part of the error, empty for none.
	}{
		"none are all":                      {nil, ""},
		"one":                               {Set{"tenants"}, ""},
		"several":                           {Set{"tenants", "trials-2"}, ""},
		"upper case":                        {Set{"Tenants"}, `"Tenants" is not the name of a namespace`},
		"an empty name, which would be all": {Set{"tenants", ""}, `"" is not the name of a namespace`},
		"a pattern":                         {Set{"tenant-*"}, `"tenant-*" is not the name of a namespace`},
		"a space before the name":           {Set{"a", " b"}, `" b" is not the name of a namespace`},
		"another resource's path":           {Set{"a/../../nodes"}, "is not the name of a namespace"},
		"a name that is too long":           {Set{strings.Repeat("a", 64)}, "is not the name of a namespace"},
		"a name twice":                      {Set{"a", "b", "a"}, `"a" is there twice`},
	} {
		t.Run(name, func(t *testing.T) {
			var n Set
			s := setting.New("a", "")
			n.Declare(s)
			n = tt.namespaces
			err := s.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNoneAreAll(t *testing.T) {
	var all Set
	if !all.Contain("any") || Each(all, 1) != nil {
		t.Error("without names there is a bound")
	}
	if diff := cmp.Diff([]string{""}, all.Queries()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	some := Set{"a", "b"}
	if !some.Contain("b") || some.Contain("c") || some.Contain("") {
		t.Error("what is among the names is not what they contain")
	}
	if !some.Equal(Set{"b", "a"}) || some.Equal(all) || some.Equal(Set{"a"}) || !all.Equal(Set{}) {
		t.Error("what is equal depends on more than the names")
	}
	if diff := cmp.Diff([]string{"a", "b"}, some.Queries()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1}, Each(some, 1)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
