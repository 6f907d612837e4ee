// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesAreValidated(t *testing.T) {
	for name, tt := range map[string]struct {
		namespaces Namespaces
		want       string // Part of the error, empty for none.
	}{
		"none are all":                      {nil, ""},
		"one":                               {Namespaces{"tenants"}, ""},
		"several":                           {Namespaces{"tenants", "trials-2"}, ""},
		"upper case":                        {Namespaces{"Tenants"}, `"Tenants" is not the name of a namespace`},
		"an empty name, which would be all": {Namespaces{"tenants", ""}, `"" is not the name of a namespace`},
		"a pattern":                         {Namespaces{"tenant-*"}, `"tenant-*" is not the name of a namespace`},
		"a space before the name":           {Namespaces{"a", " b"}, `" b" is not the name of a namespace`},
		"another resource's path":           {Namespaces{"a/../../nodes"}, "is not the name of a namespace"},
		"a name that is too long":           {Namespaces{strings.Repeat("a", 64)}, "is not the name of a namespace"},
		"a name twice":                      {Namespaces{"a", "b", "a"}, `"a" is there twice`},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.namespaces.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNoneAreAll(t *testing.T) {
	var all Namespaces
	if !all.Contain("any") || Each(all, 1) != nil {
		t.Error("without names there is a bound")
	}
	if diff := cmp.Diff([]string{""}, all.Queries()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	some := Namespaces{"a", "b"}
	if !some.Contain("b") || some.Contain("c") || some.Contain("") {
		t.Error("what is among the names is not what they contain")
	}
	if !some.Equal(Namespaces{"b", "a"}) || some.Equal(all) || some.Equal(Namespaces{"a"}) || !all.Equal(Namespaces{}) {
		t.Error("what is equal depends on more than the names")
	}
	if diff := cmp.Diff([]string{"a", "b"}, some.Queries()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1}, Each(some, 1)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
