// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func installedProgram() *catalog.Program {
	return &catalog.Program{
		Package: "@acme/notes", Version: "1.0.0", State: "Ready", InstalledAt: new(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), Packages: 3,
		Digest: "sha256:" + strings.Repeat("ab", 32), Message: "for administrators",
	}
}

func TestARecipeSaysWhetherItsPackageIsInstalled(t *testing.T) {
	var of *catalog.Program
	w := newWorld(t, func(o *Options) {
		o.Program = func(r recipe.Recipe) *catalog.Program {
			if r.ID != "alpha" {
				t.Errorf("asked for %q", r.ID)
			}
			return of
		}
	})
	w.seeded("alpha")
	const path = "/recipes/alpha/program"
	if got := w.get(path); got.status != http.StatusNotFound || !strings.Contains(got.body, "program_not_found") {
		t.Errorf("of a remote server: %d %s", got.status, got.body)
	}
	of = &catalog.Program{Package: "@acme/notes", Version: "1.0.0"}
	before := w.get(path)
	if before.status != http.StatusOK || before.body != `{"package":"@acme/notes","version":"1.0.0"}` {
		t.Errorf("before its first user: %d %s", before.status, before.body)
	}
	of = installedProgram()
	after := w.get(path, "If-None-Match", before.header.Get("ETag"))
	if after.status != http.StatusOK || !strings.Contains(after.body, `"installedAt":"2026-03-01T00:00:00Z","packages":3,"digest":"sha256:abab`) || strings.Contains(after.body, "administrators") {
		t.Errorf("installed: %d %s", after.status, after.body)
	}
	if got := w.get(path, "If-None-Match", after.header.Get("ETag")); got.status != http.StatusNotModified {
		t.Errorf("the same again: %d", got.status)
	}
	if got := newWorld(t).get(path); got.status != http.StatusNotFound {
		t.Errorf("without a recipe: %d", got.status)
	}
}
