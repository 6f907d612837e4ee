// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope says in which namespaces an installation looks after
// HostedBridges. All its processes must be told the same.
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

// FlagUsage is what each process says of it.
const FlagUsage = "namespaces in which HostedBridges are looked after, such as tenants,trials; the API server is asked for no others, and needs no ClusterRole for it (default: all)"

// Namespaces are those in which HostedBridges are looked after. Without any they
// are all namespaces.
type Namespaces []string

// Validate reports, by the flag, the first that is not the name of a namespace, or
// is there twice.
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

// Queries returns the namespaces to ask the API server for, one after the other.
// Where they are all, that is one question, in no namespace.
func (n Namespaces) Queries() []string {
	if len(n) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return n
}

// Each returns value for each of them, and nil where they are all: so caches
// have it.
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
