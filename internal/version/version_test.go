// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import "testing"

func TestVersion(t *testing.T) {
	for name, c := range map[string]struct{ stamped, module, want string }{
		"a release says its own":                     {"1.2.3", "(devel)", "1.2.3"},
		"a release comes before what Go says":        {"1.2.3", "v1.2.4", "1.2.3"},
		"what go install builds is the module's":     {"", "v1.2.4", "1.2.4"},
		"a build of a work tree is no release":       {"", "(devel)", Development},
		"a test is none either":                      {"", "", Development},
		"a tag with its v is the version without it": {"v2.0.0-rc.1", "", "2.0.0-rc.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(c.stamped, c.module); got != c.want {
				t.Errorf("of(%q, %q) = %q, want %q", c.stamped, c.module, got, c.want)
			}
		})
	}
}
