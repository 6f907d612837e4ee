// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// full returns a recipe in which everything is said.
func full(t *testing.T) recipe.Recipe {
	t.Helper()
	var r recipe.Recipe
	fill(t, reflect.ValueOf(&r).Elem())
	r.LocalOnly = recipe.LocalOnly{Tools: []string{"a", "b"}}
	return r
}

// fill gives everything in v a value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if _, ok := reflect.TypeAssert[jsondoc.Value](v); ok {
			v.Set(reflect.ValueOf(jsondoc.Text("value")))
			return
		}
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(t, item)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("linux"), item)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.0000001)
	default:
		t.Fatalf("a %s", v.Kind())
	}
}

func TestARecipeComesBackFromTheAPIAsItWas(t *testing.T) {
	all := full(t)
	local := all
	local.LocalOnly = recipe.LocalOnly{All: true}
	priced := catalogtest.Recipe("notes")
	priced.Metadata = recipe.Metadata{CostPerCall: 0.5}
	for name, r := range map[string]recipe.Recipe{"everything": all, "local": local, "only a price": priced, "little": catalogtest.Recipe("notes"), "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			back := catalogtest.Stored(t, r)
			if diff := cmp.Diff(r, back); diff != "" {
				t.Error(diff)
			}
		})
	}
	object := string(must.Value(json.Marshal(v1alpha1.Recipe{Recipe: all}))(t))
	for _, want := range []string{`"costPerCall":"0.0000001"`, `"localOnly":{"tools":["a","b"]}`} {
		if !strings.Contains(object, want) {
			t.Errorf("%s is not in %s", want, object)
		}
	}
}

func TestAListOfLocalToolsCountsMoreThanTheWholeServer(t *testing.T) {
	var r v1alpha1.Recipe
	must.Succeed(t, json.Unmarshal([]byte(`{"localOnly":{"all":true,"tools":["a"]}}`), &r))
	if diff := cmp.Diff(recipe.LocalOnly{Tools: []string{"a"}}, r.LocalOnly); diff != "" {
		t.Error(diff)
	}
}

// TestAWrongValueKeepsNoRecipeFromBeingRead is for objects of another release's schema.
func TestAWrongValueKeepsNoRecipeFromBeingRead(t *testing.T) {
	var o v1alpha1.CatalogRecipe
	must.Succeed(t, json.Unmarshal([]byte(`{"spec":{"recipe":{"id":"notes","name":7,"later":[],"metadata":{"costPerCall":"much"},"transports":[{"type":"sse"}]}}}`), &o))
	want := recipe.Recipe{ID: "notes", Transports: []recipe.Transport{{Type: recipe.SSE}}}
	if diff := cmp.Diff(want, o.Spec.Recipe.Recipe); diff != "" {
		t.Error(diff)
	}
}
