// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// perNamespace is how many tenants share a namespace: Kubernetes is tried with
// 2,000 Deployments in one.
const perNamespace = 2000

// withSecret is of how many tenants one has a Secret that is sealed.
const withSecret = 10

// sourceSuffix ends the names of the Secrets from which values are sealed.
const sourceSuffix = "-source"

func sourceSecret(name string) bool { return strings.HasSuffix(name, sourceSuffix) }

// contender is an operator, by what it is given and what it makes of it.
type contender struct {
	name string
	// tenant is the kind that it is given, made the kinds that it makes for each
	// one and owner the kind that these name as their owner.
	tenant schema.GroupVersionResource
	owner  string
	made   []schema.GroupVersionResource
	// objects is how many objects of these kinds it makes for each.
	objects int
	object  func(i int) *unstructured.Unstructured
	// ready says whether a tenant is.
	ready func(*unstructured.Unstructured) bool
}

func namespaceOf(i int) string { return fmt.Sprintf("tenants-%d", i/perNamespace) }

func nameOf(i int) string { return fmt.Sprintf("t%05d", i) }

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services        = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	roles           = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	roleBindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	bridges         = schema.GroupVersionResource{Group: "hostedbridge.dev", Version: "v1alpha1", Resource: "hostedbridges"}
)

// onDemand says whether a tenant sleeps while it is not used: every second one.
func onDemand(i int) bool { return i%2 == 1 }

// sealed says whether a tenant has a secret.
func sealed(i int) bool { return i%withSecret == 3 }

// ours is this project's operator.
func ours() contender {
	return contender{
		name: "hosted-bridge", tenant: bridges, owner: "HostedBridge",
		made: []schema.GroupVersionResource{serviceAccounts, configMaps, deployments}, objects: 3,
		object: bridge,
		ready:  func(o *unstructured.Unstructured) bool { return conditionTrue(o, "Ready") },
	}
}

// bridge is a tenant with one server and one key. Of those on demand none falls
// asleep before it is told to.
func bridge(i int) *unstructured.Unstructured {
	state := "Running"
	if onDemand(i) {
		state = "OnDemand"
	}
	id, hash := fmt.Sprintf("key%08d", i), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(nameOf(i))))
	if i < len(keys) {
		id, hash = keys[i].id, keys[i].hash
	}
	spec := map[string]any{
		"tier": "free", "desiredState": state, "idleTimeout": "24h",
		"apiKeys": []any{map[string]any{"id": id, "hash": hash}},
		"servers": []any{map[string]any{"name": "search", "transport": map[string]any{"url": "https://mcp.example.com/mcp"}}},
	}
	if sealed(i) {
		spec["secretRefs"] = []any{map[string]any{"name": nameOf(i) + sourceSuffix}}
		spec["servers"] = []any{map[string]any{
			"name": "search", "secrets": []any{"TOKEN"},
			"transport": map[string]any{
				"url": "https://mcp.example.com/mcp", "headers": []any{map[string]any{"name": "Authorization", "value": "Bearer ${TOKEN}"}},
			},
		}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hostedbridge.dev/v1alpha1", "kind": "HostedBridge",
		"metadata": map[string]any{"namespace": namespaceOf(i), "name": nameOf(i)}, "spec": spec,
	}}
}

func conditionTrue(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c["status"] == "True"
		}
	}
	return false
}

// makeNamespaces makes those of the tenants from one to another, and the Secrets
// of those who have one: they are there before, as they are not measured.
func (p *plane) makeNamespaces(t *testing.T, from, to int, secrets bool) {
	t.Helper()
	for i := from; i < to; i++ {
		var objects []client.Object
		if i == from || i%perNamespace == 0 {
			objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}})
		}
		if secrets && sealed(i) {
			objects = append(objects, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: nameOf(i) + sourceSuffix}, Data: map[string][]byte{"TOKEN": []byte("open-sesame")},
			})
		}
		for _, o := range objects {
			if err := p.client.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
	}
}
