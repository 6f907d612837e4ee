// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlename

import (
	"strings"
	"testing"
)

func TestANameOfABundleIsOneOfAJobsPodAndOfItsSpecAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, made := range []Made{
		{Package: "@scope/server", Version: "1.2.3"},
		{Package: "@other/server", Version: "1.2.3"},
		{Package: "@scope/server", Version: "1.2.3", InstallScripts: true},
		{Package: "@scope/server", Version: "1.2.3", Method: "npx"},
		{Package: "@scope/server", Version: "1.2.3", Architecture: "arm64"},
		{Package: "_A..b" + strings.Repeat("-Long", 40), Version: "1.2.3-rc.1+build"},
		{Package: "__", Version: "0.0.0"},
	} {
		name := Of(made)
		if seen[name] || len(name) > 53 || unnameable.MatchString(strings.ReplaceAll(name, "-", "a")) || strings.Trim(name, "-") != name {
			t.Errorf("%+v is called %q", made, name)
		}
		seen[name] = true
	}
}
