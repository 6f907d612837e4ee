// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namespaces defines the namespaces in which an installation serves
// HostedBridges, and makes caches of several namespaces. All its processes need
// the same setting.
package namespaces

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// Flag is each process's flag for them.
const Flag = "watch-namespaces"

// Set names the namespaces whose HostedBridges are served. An empty list means all
// namespaces.
type Set []string

// Declare adds the setting to a process.
func (n *Set) Declare(s *setting.Set) {
	s.List((*[]string)(n), Flag, "namespaces in which HostedBridges are looked after, such as tenants,trials; the API server is asked for no others, and needs no ClusterRole for it (default: all)", setting.Label)
	s.Check(func() error {
		for i, name := range *n {
			if slices.Contains((*n)[:i], name) {
				return fmt.Errorf("--%s: %q is there twice; give each namespace once", Flag, name)
			}
		}
		return nil
	})
}

// Contain reports whether a namespace is one of them.
func (n Set) Contain(namespace string) bool {
	return len(n) == 0 || slices.Contains(n, namespace)
}

// Equal reports whether others are the same namespaces, in whatever order.
func (n Set) Equal(others Set) bool {
	return slices.Equal(slices.Sorted(slices.Values(n)), slices.Sorted(slices.Values(others)))
}

// Queries returns the namespaces of the requests to the API server, one after
// the other. For all namespaces that is one request, without a namespace.
func (n Set) Queries() []string {
	if len(n) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return n
}

// Each returns value for each of them, and nil for all namespaces: this is the
// form of caches.
func Each[T any](n Set, value T) map[string]T {
	if len(n) == 0 {
		return nil
	}
	each := make(map[string]T, len(n))
	for _, name := range n {
		each[name] = value
	}
	return each
}
