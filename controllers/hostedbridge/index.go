// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// The indexes under which caches are read, so that no reconcile looks through
// objects of other bridges.
const (
	// indexPodBridge finds pods by the UID of their HostedBridge.
	indexPodBridge = "bridge"
	// indexWaking finds the HostedBridges that were called while they slept and
	// are not ready yet.
	indexWaking = "waking"
	// indexRecipe finds HostedBridges by the recipes that they name.
	indexRecipe = "recipe"
	// indexPackage finds HostedBridges by the packages that their programs are of.
	indexPackage = "package"
	// indexKey finds HostedBridges by the keys that others can have too.
	indexKey = "key"
	// indexPerson finds HostedBridges, and indexPersonKey BridgePersons, by the keys of
	// people: user ids and the keys of subjects. There is no further index by user id: each
	// index takes some 600 bytes for each bridge.
	indexPerson    = "person"
	indexPersonKey = "person-key"
	// indexGroup finds HostedBridges by the groups of their specs, and those with a group that nothing
	// else names.
	indexGroup = "group"
	// indexRequestUser finds BridgeRequests by the user who asks.
	indexRequestUser = "request-user"
	// indexClaimBridge finds PersistentVolumeClaims by the label of their bridge.
	indexClaimBridge = "claim"
)

// Index is one field index.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes returns the indexes that the Reconciler's Client must offer.
func Indexes() []Index {
	return []Index{
		{&corev1.Pod{}, indexPodBridge, func(o client.Object) []string {
			return []string{o.GetAnnotations()[v1alpha1.AnnotationBridgeUID]}
		}},
		{&corev1.PersistentVolumeClaim{}, indexClaimBridge, func(o client.Object) []string {
			return []string{o.GetLabels()[v1alpha1.LabelInstance]}
		}},
		{&v1alpha1.HostedBridge{}, indexWaking, func(o client.Object) []string {
			if b := o.(*v1alpha1.HostedBridge); b.Status.Phase != v1alpha1.PhaseWaking && !bridgestate.InQueue(b) {
				return nil
			}
			return []string{isWaking}
		}},
		{&v1alpha1.HostedBridge{}, indexRecipe, func(o client.Object) []string { return recipeUses(o.(*v1alpha1.HostedBridge)) }},
		{&v1alpha1.HostedBridge{}, indexPackage, func(o client.Object) []string { return packages(o.(*v1alpha1.HostedBridge)) }},
		{&v1alpha1.HostedBridge{}, indexPerson, func(o client.Object) []string { return personKeys(o.(*v1alpha1.HostedBridge)) }},
		{&v1alpha1.HostedBridge{}, indexGroup, func(o client.Object) []string { return groupKeys(o.(*v1alpha1.HostedBridge)) }},
		{&v1alpha1.BridgePerson{}, indexPersonKey, func(o client.Object) []string { return keysOfPerson(o.(*v1alpha1.BridgePerson)) }},
		{&v1alpha1.BridgeRequest{}, indexRequestUser, func(o client.Object) []string { return []string{string(o.(*v1alpha1.BridgeRequest).Spec.User)} }},
		{&v1alpha1.HostedBridge{}, indexKey, func(o client.Object) []string { return copyable(o.(*v1alpha1.HostedBridge)) }},
	}
}

func addIndexes(ctx context.Context, to client.FieldIndexer) error {
	for _, i := range Indexes() {
		if err := to.IndexField(ctx, i.Object, i.Field, i.Values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.Object, i.Field, err)
		}
	}
	return nil
}
