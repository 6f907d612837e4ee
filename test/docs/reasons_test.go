// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestEveryReasonHasAnEntry reads the reasons of conditions from the API's
// source: there each of them is explained to programmers, and in
// docs/troubleshooting.md to who has to do something.
func TestEveryReasonHasAnEntry(t *testing.T) {
	var headings []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(mustRead(t, "docs/troubleshooting.md"), -1) {
		headings = append(headings, heading[1])
	}
	reasons := constants(t, "Reason")
	if len(reasons) < 40 {
		t.Fatalf("found %d reasons in the API", len(reasons))
	}
	for _, reason := range reasons {
		if !slices.Contains(headings, reason) {
			t.Errorf("docs/troubleshooting.md has no entry for the reason %s", reason)
		}
	}
	for _, heading := range headings {
		if !slices.Contains(reasons, heading) && !regexp.MustCompile(`^\d+$`).MatchString(heading) {
			t.Errorf("docs/troubleshooting.md has an entry for %s, which is no reason", heading)
		}
	}
}

// constants returns the values of the API's constants whose names begin so.
func constants(t *testing.T, prefix string) []string {
	t.Helper()
	sources := must.Value(filepath.Glob(filepath.Join(Root, "api/v1alpha1/*.go")))(t)
	var values []string
	for _, source := range sources {
		file := must.Value(parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, _ := strconv.Unquote(literal.Value)
				values = append(values, value)
			}
			return true
		})
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// TestEveryFieldIsDescribed looks for each JSON field of the API's types in the
// page of its kind, in code as it is written in a manifest. Fields of a recipe
// are those of the recipe's own format, and of Kubernetes' types those that
// Kubernetes describes.
func TestEveryFieldIsDescribed(t *testing.T) {
	for _, kind := range []struct {
		page string
		of   any
	}{
		{"docs/spec/hostedbridge.md", v1alpha1.HostedBridge{}},
		{"docs/operations/profiles.md", v1alpha1.BridgeProfile{}},
		{"docs/operations/people.md", v1alpha1.BridgePerson{}},
		{"docs/operations/shared.md", v1alpha1.SharedServer{}},
		{"docs/spec/catalogrecipe.md", v1alpha1.CatalogRecipe{}},
		{"docs/spec/catalogpublisher.md", v1alpha1.CatalogPublisher{}},
	} {
		code := strings.Join(regexp.MustCompile("(?s)```yaml\n.*?```|`[^`\n]+`").FindAllString(mustRead(t, kind.page), -1), "\n")
		seen := map[reflect.Type]bool{reflect.TypeFor[v1alpha1.Recipe](): true}
		if kind.page != "docs/spec/hostedbridge.md" {
			// The page of HostedBridges has their fields.
			seen[reflect.TypeFor[v1alpha1.Server]()], seen[reflect.TypeFor[v1alpha1.Transport]()] = true, true
		}
		for _, field := range fields(reflect.TypeOf(kind.of), seen) {
			if !regexp.MustCompile(`\b` + field + `\b`).MatchString(code) {
				t.Errorf("%s does not describe the field %s", kind.page, field)
			}
		}
	}
}

// fields returns the names of all fields below a type of the API.
func fields(typ reflect.Type, seen map[reflect.Type]bool) (names []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasSuffix(typ.PkgPath(), "/api/v1alpha1") {
		return nil
	}
	seen[typ] = true
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "metadata" {
			names = append(names, name)
		}
		names = append(names, fields(field.Type, seen)...)
	}
	return names
}
