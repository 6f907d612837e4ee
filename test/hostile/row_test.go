// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"regexp"
	"slices"
	"testing"
)

func TestEachRowIsOne(t *testing.T) {
	// A bridge passes such names on as they are, with a prefix.
	name := regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	seen := map[string]bool{}
	for _, r := range Rows() {
		if !name.MatchString(r.Name) || seen[r.Name] {
			t.Errorf("row %q: its name must be its own, of letters, digits and -", r.Name)
		}
		seen[r.Name] = true
		if (r.Call == nil) == (r.Serve == nil) || (r.Serve == nil) != (r.Meets == nil) {
			t.Errorf("row %q must have either Call, or Serve and Meets", r.Name)
		}
		if r.Serve != nil && !r.Alone {
			t.Errorf("row %q has a server of its own, and must have a bridge of its own", r.Name)
		}
		if !slices.Contains(Kinds, r.Kind) || r.Does == "" {
			t.Errorf("row %q has no kind, or does not say what it does", r.Name)
		}
	}
}
