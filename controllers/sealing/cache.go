// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

// CacheOptions limit what the keybroker holds in memory: of HostedBridges what
// is read, and of all Secrets of the watched namespaces their names and versions.
// No data of a Secret is ever in a cache.
func CacheOptions(watched scope.Namespaces) cache.Options {
	return cache.Options{
		DefaultNamespaces: scope.Each(watched, cache.Config{}),
		// A read of anything else would silently begin to cache all of it.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.HostedBridge{}: {Transform: stripBridge},
			&corev1.Secret{}:         {Transform: stripSecret},
		},
	}
}

// stripBridge keeps of a HostedBridge what is reconciled, and who it is.
func stripBridge(object any) (any, error) {
	b, ok := object.(*v1alpha1.HostedBridge)
	if !ok {
		return object, nil
	}
	kept := &v1alpha1.HostedBridge{TypeMeta: b.TypeMeta, ObjectMeta: identity(&b.ObjectMeta)}
	kept.Generation = b.Generation
	kept.Spec.Tier = b.Spec.Tier
	kept.Spec.Servers = b.Spec.Servers
	kept.Spec.SecretRefs = b.Spec.SecretRefs
	kept.Status.KeyVersion = b.Status.KeyVersion
	kept.Status.Secrets = b.Status.Secrets
	kept.Status.Recipes = b.Status.Recipes
	return kept, nil
}

// stripSecret keeps of a Secret's metadata what tells it from others and from
// its own earlier state.
func stripSecret(object any) (any, error) {
	s, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: s.TypeMeta, ObjectMeta: identity(&s.ObjectMeta)}, nil
}

func identity(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp,
	}
}
