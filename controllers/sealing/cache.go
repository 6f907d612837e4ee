// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// CacheOptions limit what the keybroker holds in memory: the fields of
// HostedBridges that it reads, and the names and versions of all Secrets in the
// watched namespaces and the installation's own, where SharedServers and people are too. No
// data of a Secret is ever in a cache.
func CacheOptions(namespace string, watched namespaces.Set) cache.Options {
	own := cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	secrets := cache.ByObject{Transform: stripSecret}
	if len(watched) > 0 && !watched.Contain(namespace) {
		secrets.Namespaces = namespaces.Each(append(slices.Clone(watched), namespace), cache.Config{})
	}
	return cache.Options{
		DefaultNamespaces: namespaces.Each(watched, cache.Config{}),
		// A read of any other type would silently start a cache of all its
		// objects.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.HostedBridge{}: {Transform: stripBridge},
			&corev1.Secret{}:         secrets,
			&v1alpha1.SharedServer{}: own,
			&v1alpha1.BridgePerson{}: own,
		},
	}
}

// stripBridge keeps the fields of a HostedBridge that are reconciled, and its
// identity.
func stripBridge(object any) (any, error) {
	b, ok := object.(*v1alpha1.HostedBridge)
	if !ok {
		return object, nil
	}
	kept := &v1alpha1.HostedBridge{TypeMeta: b.TypeMeta, ObjectMeta: identity(&b.ObjectMeta)}
	kept.Generation = b.Generation
	kept.Spec.Tier, kept.Spec.Servers, kept.Status.Effective = b.Spec.Tier, b.Spec.Servers, b.Status.Effective
	kept.Spec.SecretRefs = b.Spec.SecretRefs
	kept.Spec.UserID, kept.Spec.OAuth = b.Spec.UserID, b.Spec.OAuth
	kept.Status.KeyVersion = b.Status.KeyVersion
	kept.Status.Secrets = b.Status.Secrets
	kept.Status.Recipes = b.Status.Recipes
	return kept, nil
}

// stripSecret keeps the metadata of a Secret that distinguishes it from other
// Secrets and from its own earlier state.
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
