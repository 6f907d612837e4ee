// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeperson says in the status of BridgePersons how far people have left whose
// access was taken away, and deletes the HostedBridges that their first logins made once
// the secrets are destroyed.
package bridgeperson

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
)

// Reconciler reconciles one BridgePerson at a time.
type Reconciler struct {
	// Client reads from caches, and writes.
	Client client.Client
	Clock  clock.PassiveClock
	// Namespace is the installation's, in which BridgePersons have an effect.
	Namespace string
}

// Reconcile brings the status of a person up to date, and deletes what is due.
func (r *Reconciler) Reconcile(ctx context.Context, p *v1alpha1.BridgePerson) (ctrl.Result, error) {
	if p.Namespace != r.Namespace || p.DeletionTimestamp != nil || isSettled(p) {
		return ctrl.Result{}, nil
	}
	var persons v1alpha1.BridgePersonList
	if err := r.Client.List(ctx, &persons, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list BridgePersons: %w", err)
	}
	var bridges v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &bridges, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list HostedBridges: %w", err)
	}
	people := access.NewPeople(persons.Items)
	var own []*v1alpha1.HostedBridge
	uids := make(map[string]bool, len(bridges.Items))
	for i := range bridges.Items {
		b := &bridges.Items[i]
		uids[string(b.UID)] = true
		if people.Owns(p, b) {
			own = append(own, b)
		}
	}
	after := access.Leaving(p, own, people, func(uid string) bool { return uids[uid] }, r.Clock.Now())
	if !equality.Semantic.DeepEqual(p.Status, after) {
		if err := r.applyStatus(ctx, p, after); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.deleteDue(ctx, own)
}

// isSettled reports whether a person has access, and the status says so.
func isSettled(p *v1alpha1.BridgePerson) bool {
	allowed := p.Spec.Access == v1alpha1.AccessAllowed || p.Spec.Access == ""
	return allowed && (p.Status.ObservedGeneration == 0 || p.Status.ObservedGeneration == p.Generation)
}

// deleteDue deletes the bridges that are due. One that changed since it was read is looked
// at again first: its people may have access again.
func (r *Reconciler) deleteDue(ctx context.Context, own []*v1alpha1.HostedBridge) error {
	for _, b := range own {
		if !access.DueForDeletion(b) {
			continue
		}
		if err := apply.DeleteAsRead(ctx, r.Client, &v1alpha1.HostedBridge{ObjectMeta: b.ObjectMeta}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) applyStatus(ctx context.Context, p *v1alpha1.BridgePerson, s v1alpha1.BridgePersonStatus) error {
	own := v1alpha1.BridgePersonStatus{ObservedGeneration: s.ObservedGeneration, Bridges: s.Bridges, Conditions: s.Conditions}
	// With the version that was read, the API server refuses a status about an access that
	// has since changed.
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion}}
	err := r.Client.Status().Patch(ctx, object, apply.Status(own), client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The event of the change reconciles the person again.
	}
	if err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	return nil
}
