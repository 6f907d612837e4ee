// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package lifecycle

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// left is what the notes of the chart say that an uninstall leaves, beside the
// users' namespaces and the CustomResourceDefinitions of the chart.
var left = []string{
	"Lease/hosted-bridge-keybroker",
	"Lease/hosted-bridge-operator",
	"Namespace/hosted-bridge-system",
	"NetworkPolicy/hosted-bridge-tenants",
	"PriorityClass/hosted-bridge-bridges",
	"Secret/hosted-bridge-admin",
	"Secret/hosted-bridge-audit-key",
	"Secret/hosted-bridge-catalog-key",
	"Secret/hosted-bridge-master-key",
	"Secret/hosted-bridge-snapshot-key",
}

// unnamed are kinds of which the cluster makes objects by itself, which end by
// themselves too; an APIService belongs to its CustomResourceDefinitions.
var unnamed = []string{"Event", "PodMetrics", "NodeMetrics", "ComponentStatus", "Endpoints", "APIService"}

func (c *cluster) expectLeftAsTheNotesSay(t *testing.T) {
	want := append(definitions(t), left...)
	notes := c.mustHelm(t, "get", "notes", release)
	c.mustHelm(t, "uninstall", release, "--wait", "--timeout=3m")
	var found []string
	wait.NoError(t, patience, "what belonged to the installation is gone", func(ctx context.Context) error {
		var err error
		if found, err = c.ours(ctx); err != nil {
			return err
		}
		if diff := cmp.Diff(want, found); diff != "" {
			return fmt.Errorf("what is left (-the notes +the cluster):\n%s", diff)
		}
		return nil
	})
	// The notes speak of each of them to who reads them.
	for _, word := range []string{"CustomResourceDefinitions", "NetworkPolicies hosted-bridge-tenants", "PriorityClass hosted-bridge-bridges", "Leases hosted-bridge-operator and hosted-bridge-keybroker", "hosted-bridge-master-key", "hosted-bridge-admin", "hosted-bridge-audit-key", "hosted-bridge-catalog-key", "hosted-bridge-snapshot-key", "namespace " + system} {
		if !strings.Contains(strings.Join(strings.Fields(notes), " "), word) {
			t.Errorf("the notes say nothing of %s", word)
		}
	}
}

// definitions are the CustomResourceDefinitions of the chart, which has a file for each:
// GROUP_PLURAL.yaml.
func definitions(t *testing.T) []string {
	var names []string
	for _, file := range must.Value(filepath.Glob("../../charts/hosted-bridge/files/crds/*.yaml"))(t) {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		names = append(names, "CustomResourceDefinition/"+plural+"."+group)
	}
	return names
}

// ours lists, of every kind that the cluster has, the objects in the
// installation's namespace, those of no namespace that have its name, and the
// NetworkPolicies of all namespaces, of which nobody else makes any. What is in
// the catalog goes with its CustomResourceDefinition.
func (c *cluster) ours(ctx context.Context) ([]string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	m, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains(unnamed, r.Kind) || group.Group == "hostedbridge.dev" {
				continue
			}
			names, err := c.named(ctx, m, group.WithResource(r.Name), r)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", r.Name, err)
			}
			found = append(found, names...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil // Some kinds are served in several versions.
}

func (c *cluster) named(ctx context.Context, m metadata.Interface, of schema.GroupVersionResource, r metav1.APIResource) ([]string, error) {
	var at metadata.ResourceInterface = m.Resource(of)
	if r.Namespaced && r.Kind != "NetworkPolicy" {
		at = m.Resource(of).Namespace(system)
	}
	list, err := at.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range list.Items {
		ofCluster := o.Name == "kube-root-ca.crt" || r.Kind == "ServiceAccount" && o.Name == "default"
		if r.Namespaced && !ofCluster || !r.Namespaced && (strings.HasPrefix(o.Name, "hosted-bridge") || strings.HasSuffix(o.Name, "hostedbridge.dev")) {
			names = append(names, r.Kind+"/"+o.Name)
		}
	}
	return names, nil
}
