// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipes

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestTheAPIServerTakesEachRecipeAsItIs(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	each(t, func(t *testing.T, id string, content []byte) {
		r := mustParse(t, id, content).Recipe
		o := &v1alpha1.CatalogRecipe{Spec: v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: r}}}
		o.Namespace, o.Name = namespace, id
		must.Succeed(t, c.Create(t.Context(), o, client.FieldValidation("Strict")))
		stored := &v1alpha1.CatalogRecipe{}
		must.Succeed(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), stored))
		if !catalog.Same(r, stored.Spec.Recipe.Recipe) {
			t.Error("the API server gives back another recipe")
		}
	})
}
