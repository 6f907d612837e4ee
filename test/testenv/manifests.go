// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"io"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// ExpectInstalled creates the objects that the file has, those that have a
// namespace and do not say which in this one. What exists already stays as it is.
func ExpectInstalled(t testing.TB, c client.Client, file, namespace string) {
	t.Helper()
	f := must.Value(os.Open(file))(t)
	defer f.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if namespaced, err := c.IsObjectNamespaced(object); err != nil {
			t.Fatal(err)
		} else if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		if err := c.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}
