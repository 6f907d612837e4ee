// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"strings"
	"testing"
)

func TestFetchesSaysWhatMayStand(t *testing.T) {
	_, err := Fetches("npx", []string{"-y", "--registry=https://user:secret@x.example", "p"})
	if err == nil || !strings.Contains(err.Error(), `"--registry"`) || !strings.Contains(err.Error(), "--package") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err = Fetches("uvx", []string{"-p", "3.12", "p"}); err == nil || strings.Contains(err.Error(), "--package") || !strings.Contains(err.Error(), "--from") {
		t.Error(err)
	}
}

// FuzzFetches looks for arguments in which one package is found when a recipe is
// checked, and another when it is converted.
func FuzzFetches(f *testing.F) {
	for _, args := range []string{"-y p@1.0.0", "-y -p p@1 -- mcp -p x", "--from p==1 p --from x", "-- p", "-- -p x", "-p -y x", "-p  x", "--package"} {
		f.Add("npx", args)
		f.Add("uvx", args)
	}
	f.Fuzz(func(t *testing.T, method, text string) {
		args := strings.Split(text, " ")
		fetched, err := Fetches(method, args)
		if err != nil {
			return
		}
		at := packageAt(args)
		if at < 0 || args[at] != fetched.Package {
			t.Errorf("%q: checked %q, converted word %d", args, fetched.Package, at)
		}
	})
}
