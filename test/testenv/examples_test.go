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

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestTheExamplesOfTheSpecificationAreTaken sends each HostedBridge of the
// document to the API server, which names every field that it does not know.
func TestTheExamplesOfTheSpecificationAreTaken(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	document, err := os.ReadFile("../../docs/spec/hostedbridge.md")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(document, -1) {
		for example := range strings.SplitSeq(string(block[1]), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(example), &o.Object); err != nil {
				t.Fatalf("%v:\n%s", err, example)
			}
			if o.GetKind() != "HostedBridge" {
				continue
			}
			o.SetNamespace(namespace)
			if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%v:\n%s", err, example)
			}
			taken++
		}
	}
	if taken < 2 {
		t.Errorf("%d examples", taken)
	}
}
