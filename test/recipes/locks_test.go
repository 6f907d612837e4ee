// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipes

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// unlocked are recipes without a lock file, since the registry from which the others were made does
// not have all that they depend on. bridge add makes one for them.
var unlocked = []string{
	"kubernetes", // the packages of other systems than Linux on amd64
	"mux",        // jq-web, which is not at the registry but at GitHub
	"slack",      // the packages of other systems than Linux on amd64
}

func TestNoRecipeOfNpmLacksTheLockFileOfItsVersion(t *testing.T) {
	files := map[string]bool{"locks.go": true}
	each(t, func(t *testing.T, id string, content []byte) {
		i := mustParse(t, id, content).Recipe.Install
		if i == nil || i.Method != "npx" || slices.Contains(unlocked, id) {
			return
		}
		files[programs.LockFileOf(i.Package)] = true
		lock := programs.FindLock(i.Package, i.Version)
		if lock == nil {
			t.Fatalf("there is no lock file of %s@%s: run make check-recipes LOCKS=1", i.Package, i.Version)
		}
		expectChecksums(t, lock)
	})
	for _, e := range must.Value(os.ReadDir("../../internal/laptop/programs/locks"))(t) {
		if !files[e.Name()] {
			t.Errorf("internal/laptop/programs/locks/%s is of no recipe: delete it", e.Name())
		}
	}
}

// expectChecksums holds that each package of a lock file has a checksum that nobody can forge.
func expectChecksums(t *testing.T, lock []byte) {
	t.Helper()
	var read struct {
		Packages map[string]struct {
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	must.Succeed(t, json.Unmarshal(lock, &read))
	for folder, p := range read.Packages {
		if folder != "" && !strings.HasPrefix(p.Integrity, "sha512-") {
			t.Errorf("%s has the checksum %q, which is not of sha512", folder, p.Integrity)
		}
	}
}
