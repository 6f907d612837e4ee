// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// members returns the paths of all members that a type has as JSON.
func members(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if strings.HasPrefix(t.Name(), "Ordered[") {
			return nil // a map in the API
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Name() == "LocalOnly" || t.Name() == "RecipeLocalOnly" || t.Name() == "RawExtension" {
		return nil
	}
	var paths []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path + "." + name
		paths = append(paths, at)
		paths = append(paths, members(f.Type, at)...)
	}
	return paths
}

// TestTheAPIHasAllThatARecipeFileHas compares the two sets of types. What is
// written otherwise in the API is localOnly and costPerCall.
func TestTheAPIHasAllThatARecipeFileHas(t *testing.T) {
	file, object := members(reflect.TypeFor[recipe.Recipe](), ""), members(reflect.TypeFor[v1alpha1.Recipe](), "")
	slices.Sort(file)
	slices.Sort(object)
	if diff := cmp.Diff(file, object); diff != "" {
		t.Errorf("in the recipe's file (-) and in the API (+): %s", diff)
	}
	if len(file) < 100 {
		t.Errorf("only %d members were found", len(file))
	}
}

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
	for name, r := range map[string]recipe.Recipe{"everything": all, "local": local, "little": catalogtest.Recipe("notes"), "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			back := must.Value(catalog.FromObject(catalog.ToObject(r)))(t)
			if diff := cmp.Diff(r, back); diff != "" {
				t.Error(diff)
			}
		})
	}
	object := catalog.ToObject(all)
	if object.Metadata.CostPerCall != "0.0000001" || !slices.Equal(object.LocalOnly.Tools, []string{"a", "b"}) {
		t.Errorf("%+v, %+v", object.Metadata, object.LocalOnly)
	}
}

func TestFromObjectRefusesWhatTheAPIWould(t *testing.T) {
	o := catalog.ToObject(catalogtest.Recipe("notes"))
	o.Metadata = &v1alpha1.RecipeMetadata{CostPerCall: "much"}
	if _, err := catalog.FromObject(o); err == nil || !strings.Contains(err.Error(), "metadata.costPerCall") {
		t.Errorf("got %v", err)
	}
}
