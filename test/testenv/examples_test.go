// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestTheExamplesOfTheSpecificationAreTaken sends each object of the documents
// to the API server, which names every field that it does not know.
func TestTheExamplesOfTheSpecificationAreTaken(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	for _, document := range []struct {
		file, kind string
		least      int
	}{
		{"../../docs/spec/hostedbridge.md", "HostedBridge", 2},
		{"../../docs/spec/catalogrecipe.md", "CatalogRecipe", 1},
	} {
		taken := 0
		for _, o := range examples(t, document.file, document.kind) {
			o.SetNamespace(namespace)
			if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", document.file, err)
			}
			taken++
		}
		if taken < document.least {
			t.Errorf("%d examples in %s", taken, document.file)
		}
	}
}

// examples returns the objects of a kind in a document.
func examples(t *testing.T, file, kind string) []*unstructured.Unstructured {
	t.Helper()
	document := must.Value(os.ReadFile(file))(t)
	var objects []*unstructured.Unstructured
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(document, -1) {
		for example := range strings.SplitSeq(string(block[1]), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(example), &o.Object); err != nil {
				t.Fatalf("%v:\n%s", err, example)
			}
			if o.GetKind() == kind {
				objects = append(objects, o)
			}
		}
	}
	return objects
}
