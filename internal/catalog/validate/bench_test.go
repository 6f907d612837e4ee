// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

func BenchmarkCheck(b *testing.B) {
	r := catalogtest.Entries(1)[0].Recipe
	for b.Loop() {
		if p := validate.Check(r, validate.Checks{Name: r.ID}); len(p) > 0 {
			b.Fatal(p)
		}
	}
}

func BenchmarkEntryOf(b *testing.B) {
	o := catalogtest.Object(catalogtest.Entries(1)[0].Recipe)
	judge(o, 1)
	for b.Loop() {
		if _, err := catalog.EntryOf(o); err != nil {
			b.Fatal(err)
		}
	}
}
