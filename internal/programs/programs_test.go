// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

func TestChangesNameEachPackageThatDiffersOnce(t *testing.T) {
	p := func(name, version string) bundle.Package { return bundle.Package{Name: name, Version: version} }
	scripts := bundle.Package{Name: "built", Version: "1.0.0", Scripts: true}
	swapped := bundle.Package{Name: "swapped", Version: "1.0.0", Integrity: "sha512-b"}
	got := Compare(
		[]bundle.Package{p("built", "1.0.0"), p("gone", "1.0.0"), p("gone", "2.0.0"), p("same", "1.0.0"), p("several", "1.0.0"), p("several", "2.0.0"), {Name: "swapped", Version: "1.0.0", Integrity: "sha512-a"}},
		[]bundle.Package{scripts, p("new", "1.0.0"), p("same", "1.0.0"), p("several", "2.0.0"), p("several", "3.0.0"), swapped},
	)
	want := Changes{
		Added: []bundle.Package{p("new", "1.0.0")}, Removed: []bundle.Package{p("gone", "1.0.0"), p("gone", "2.0.0")}, Unchanged: 1,
		Changed: []Change{
			{"built", []bundle.Package{p("built", "1.0.0")}, []bundle.Package{scripts}},
			{"several", []bundle.Package{p("several", "1.0.0"), p("several", "2.0.0")}, []bundle.Package{p("several", "2.0.0"), p("several", "3.0.0")}},
			{"swapped", []bundle.Package{{Name: "swapped", Version: "1.0.0", Integrity: "sha512-a"}}, []bundle.Package{swapped}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Compare(nil, nil); got.Unchanged != 0 || len(got.Added)+len(got.Removed)+len(got.Changed) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}
