// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope defines the namespaces in which an installation serves
// HostedBridges, and makes caches of several namespaces. All its processes need
// the same setting.
package scope

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Flag is each process's flag for them.
const Flag = "watch-namespaces"

// FlagUsage is the flag's help text in each process.
const FlagUsage = "namespaces in which HostedBridges are looked after, such as tenants,trials; the API server is asked for no others, and needs no ClusterRole for it (default: all)"

// Namespaces are those whose HostedBridges are served. An empty list means all
// namespaces.
type Namespaces []string

// Validate reports, by the flag, the first entry that is not the name of a
// namespace, or is a duplicate.
func (n Namespaces) Validate() error {
	for i, name := range n {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("--%s: %.80q is not the name of a namespace: %s", Flag, name, strings.Join(wrong, "; "))
		}
		if slices.Contains(n[:i], name) {
			return fmt.Errorf("--%s: %q is there twice", Flag, name)
		}
	}
	return nil
}

// Contain reports whether a namespace is one of them.
func (n Namespaces) Contain(namespace string) bool {
	return len(n) == 0 || slices.Contains(n, namespace)
}

// Equal reports whether others are the same namespaces, in whatever order.
func (n Namespaces) Equal(others Namespaces) bool {
	return slices.Equal(slices.Sorted(slices.Values(n)), slices.Sorted(slices.Values(others)))
}

// Queries returns the namespaces of the requests to the API server, one after
// the other. For all namespaces that is one request, without a namespace.
func (n Namespaces) Queries() []string {
	if len(n) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return n
}

// Each returns value for each of them, and nil for all namespaces: this is the
// form of caches.
func Each[T any](n Namespaces, value T) map[string]T {
	if len(n) == 0 {
		return nil
	}
	each := make(map[string]T, len(n))
	for _, name := range n {
		each[name] = value
	}
	return each
}
