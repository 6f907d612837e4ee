// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/engine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	return s.and().GetClientFor(apiVersion, kind)
}

// and returns a cluster that has other objects, too.
func (s secrets) and(others ...object) cluster {
	for _, name := range s {
		others = append(others, object{kind: "Secret", namespace: elsewhere, name: name})
	}
	return others
}

// object is what a cluster has; its fields are those beside the metadata that every
// object has.
type object struct {
	kind, namespace, name string
	annotations           map[string]string
	fields                map[string]any
}

func (o object) unstructured() unstructured.Unstructured {
	u := unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(u.Object, o.fields)
	u.SetKind(o.kind)
	u.SetNamespace(o.namespace)
	u.SetName(o.name)
	u.SetAnnotations(o.annotations)
	return u
}

// cluster answers what templates ask.
type cluster []object

// apis are the kinds that templates may ask for.
var apis = map[string]string{
	"Secret": "v1", "ConfigMap": "v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1", "HostedBridge": "hostedbridge.dev/v1alpha1",
	"PriorityClass": "scheduling.k8s.io/v1", "StorageClass": "storage.k8s.io/v1",
}

func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if apis[kind] != apiVersion {
		return nil, false, apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
	}
	return lister{cluster: c, kind: kind}, kind != "CustomResourceDefinition" && kind != "PriorityClass" && kind != "StorageClass", nil
}

// lister answers for one kind, in all namespaces if it has none.
type lister struct {
	dynamic.NamespaceableResourceInterface
	cluster   cluster
	kind      string
	namespace string
}

func (l lister) Namespace(namespace string) dynamic.ResourceInterface {
	l.namespace = namespace
	return l
}

func (l lister) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apis[l.kind], "kind": l.kind + "List"}}
	for _, o := range l.cluster {
		if o.kind == l.kind && (l.namespace == "" || o.namespace == l.namespace) {
			list.Items = append(list.Items, o.unstructured())
		}
	}
	return list, nil
}

func (l lister) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	list, err := l.List(ctx, metav1.ListOptions{})
	for i := range list.Items {
		if list.Items[i].GetName() == name {
			return &list.Items[i], err
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: l.kind}, name)
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
func renderAt(t *testing.T, at engine.ClientProvider, values string) (map[string]string, error) {
	t.Helper()
	v, err := Values(values)
	if err != nil {
		t.Fatal(err)
	}
	r := Release{Name: "some-name", Namespace: elsewhere, Service: "Helm"}
	// No Secrets at all stand for no cluster.
	if none, ok := at.(secrets); at != nil && (!ok || none != nil) {
		r.Cluster, r.APIs = at, []string{"hostedbridge.dev/v1alpha1/HostedBridge"}
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
