// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestALaptopFindsAndVerifiesTheSeed has an installation with some of the shipped
// recipes, and does what bridge search and bridge add do.
func TestALaptopFindsAndVerifiesTheSeed(t *testing.T) {
	t.Parallel()
	dir, recipes := t.TempDir(), t.TempDir()
	for _, id := range []string{"gmail", "notion", "todoist"} {
		b, err := os.ReadFile(filepath.Join("../../config/recipes", id, "recipe.json"))
		must.Succeed(t, errors.Join(err, os.WriteFile(filepath.Join(recipes, id+".json"), b, 0o600)))
	}
	key := filepath.Join(dir, "key")
	must.Succeed(t, os.WriteFile(key, []byte("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n"), 0o600))
	i := startAt(t, testenv.Client(t), testenv.Kubeconfig(t), 8443,
		"--catalog-seed=dir:"+recipes, "--catalog-seed-at-start", "--catalog-signing-key-file="+key)
	i.publishCA()
	i.await("readiness", i.ready)
	checkRecipes(t, i.namespace)
	i.await("the seed", func() bool {
		return i.ask("GET", "/recipes/notion", "", "", "").status == http.StatusOK && i.ask("GET", "/recipes/gmail", "", "", "").status == http.StatusOK
	})

	c := must.Value(laptop.OpenCatalog("http://" + i.public))(t)
	found, err := c.List(t.Context(), url.Values{"q": {"read mail"}})
	if err != nil || found.Total != 1 || found.Recipes[0].ID != "gmail" || found.Recipes[0].Checked != recipe.CheckedRead {
		t.Errorf("found %+v, %v", found, err)
	}
	public := must.Value(c.Key(t.Context()))(t)
	doc := must.Value(c.Download(t.Context(), "notion"))(t)
	trust := laptop.OpenTrust(filepath.Join(dir, "state"))
	claim := laptop.Claim{Catalog: c, Document: doc, Key: public}
	if err := trust.Check(claim); err != nil {
		t.Error(err)
	}
	must.Succeed(t, trust.Remember(claim, "notion"))
	// The next one is verified by the key that is known.
	claim.Key = nil
	if err := trust.Check(claim); err != nil {
		t.Error(err)
	}
	if known, err := trust.Knows(claim); !known || err != nil {
		t.Errorf("the key is known: %t, %v", known, err)
	}
}
