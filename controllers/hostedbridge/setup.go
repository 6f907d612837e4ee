// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
)

// Name names the controller in logs, metrics and events.
const Name = "hostedbridge"

// concurrency is how many bridges are reconciled at a time. The first reconcile
// of a bridge is four requests of a few milliseconds each, so eight workers
// reconcile some hundreds of bridges a second. More would load the API server
// too much.
const concurrency = 8

// Setup adds the controller to m, whose cache must have the CacheOptions.
func (r *Reconciler) Setup(ctx context.Context, m ctrl.Manager) error {
	if err := addIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	events := eventMapper{client: r.Client, clock: r.Clock, settings: r.Settings}
	// Children are watched by their metadata alone, except Deployments, whose
	// status is read.
	c := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.HostedBridge{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, secretsReported(), serversReported(), woken(), toldOtherwise()))).
		Owns(&corev1.ServiceAccount{}, builder.OnlyMetadata, initiallist.Skip()).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata, initiallist.Skip()).
		Owns(&appsv1.Deployment{}, initiallist.Skip()).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(events.bridgeOfPod), initiallist.Skip(podChanged())).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfClaim), initiallist.Skip()).
		Watches(&v1alpha1.HostedBridge{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfSameUser), initiallist.Skip(claimChanged())).
		Watches(&v1alpha1.HostedBridge{}, handler.EnqueueRequestsFromMapFunc(events.bridgesSharingKeys), initiallist.Skip(keysChanged())).
		Watches(&v1alpha1.HostedBridge{}, handler.EnqueueRequestsFromMapFunc(events.nextInQueue), initiallist.Skip(events.startEnded())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(events.everyBridge), initiallist.Skip(events.trustChanged())).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(events.everyBridge), initiallist.Skip(keybrokerChanged())).
		Watches(&v1alpha1.CatalogRecipe{}, events.enqueueUsersOfRecipe(), initiallist.Skip()).
		Watches(&v1alpha1.ProgramBundle{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfBundle), initiallist.Skip()).
		Watches(&v1alpha1.BridgePerson{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfPerson), initiallist.Skip(personChanged())).
		Watches(&v1alpha1.SharedServer{}, events.enqueueSharing(), initiallist.Skip()).
		Watches(&v1alpha1.BridgeRequest{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfRequest), initiallist.Skip(approvalChanged())).
		Watches(&v1alpha1.BridgeProfile{}, events.enqueueSelected(func(p *v1alpha1.BridgeProfile) { r.pacer.Forget(p.UID) }), initiallist.Skip()).
		Watches(&v1alpha1.BridgeProfile{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfUnknownGroups), initiallist.Skip(groupsNamed())).
		Watches(&v1alpha1.SharedServer{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfUnknownGroups), initiallist.Skip(groupsNamed())).
		Watches(&v1alpha1.BridgeGroup{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfUnknownGroups), initiallist.Skip(groupsNamed())).
		Watches(&v1alpha1.HostedBridge{}, r.emitChanges(m.Elected())).
		WatchesRawSource(events.enqueueAtTakeover(m.Elected())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			EnableWarmup:            new(true), // A new leader takes over with caches that are filled.
			SkipNameValidation:      new(true), // One test process runs several managers, one after the other.
		})
	r.watchNetwork(c, events)
	if err := c.Complete(reconcile.AsReconciler(r.Client, r)); err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}
