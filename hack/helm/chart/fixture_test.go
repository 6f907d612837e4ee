// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	root      = "../../.."
	folder    = root + "/charts/hosted-bridge"
	elsewhere = "elsewhere"
)

// secrets is a cluster that has these Secrets in the namespace elsewhere.
type secrets []string

func (s secrets) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if apiVersion != "v1" || kind != "Secret" {
		return nil, false, errors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
	}
	return lister{names: s}, true, nil
}

// lister answers what templates ask: the list of a namespace.
type lister struct {
	dynamic.NamespaceableResourceInterface
	names []string
}

func (l lister) Namespace(namespace string) dynamic.ResourceInterface {
	if namespace != elsewhere {
		l.names = nil
	}
	return l
}

func (l lister) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "SecretList"}}
	for _, name := range l.names {
		var o unstructured.Unstructured
		o.SetName(name)
		list.Items = append(list.Items, o)
	}
	return list, nil
}

func load(t *testing.T) *Chart {
	t.Helper()
	c, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renderAt renders the chart as helm does for a release beside these Secrets.
func renderAt(t *testing.T, cluster secrets, values string) (map[string]string, error) {
	t.Helper()
	v, err := Values(values)
	if err != nil {
		t.Fatal(err)
	}
	r := Release{Name: "some-name", Namespace: elsewhere, Service: "Helm"}
	if cluster != nil {
		r.Cluster = cluster
	}
	return load(t).Render(r, v)
}

// render renders the chart as helm template does, without a cluster.
func render(t *testing.T, values string) map[string]string {
	t.Helper()
	files, err := renderAt(t, nil, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// objects returns the objects of a rendered template by kind and name.
func objects(t *testing.T, text string) map[string]unstructured.Unstructured {
	t.Helper()
	documents, err := Documents(text)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]unstructured.Unstructured{}
	for _, d := range documents {
		o := unstructured.Unstructured{Object: d}
		found[o.GetKind()+"/"+o.GetName()] = o
	}
	return found
}

// decode takes base64 away twice: a Secret's own, and that of the key in it.
func decode(t *testing.T, text string) []byte {
	t.Helper()
	inner, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal("the data is not base64")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(inner)))
	if err != nil {
		t.Fatal("the key is not base64")
	}
	return key
}
