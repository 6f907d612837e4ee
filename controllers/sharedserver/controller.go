// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharedserver says in the status of each SharedServer whether it is accepted, which
// of its secrets are set for the origin of its server, and how many people are members. It
// wraps the secrets again when the master key has another version. It runs in the keybroker,
// beside the sealing controller.
package sharedserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// Store keeps the secrets of SharedServers.
type Store interface {
	List(ctx context.Context, b secretstore.Bridge) (secretstore.Listing, error)
	Rewrap(ctx context.Context, b secretstore.Bridge) (secretstore.Listing, int, error)
	Open(ctx context.Context, b secretstore.Bridge) (secretstore.Opened, error)
}

// Keys is the master key's state.
type Keys interface {
	// Current is the key under which envelopes should be wrapped.
	Current() envelope.KeyID
	// Changed is closed when Current, or the set of keys that open envelopes, has changed.
	Changed() <-chan struct{}
}

// Reconciler reconciles one SharedServer at a time.
type Reconciler struct {
	// Client reads from caches, and writes.
	Client client.Client
	Store  Store
	Keys   Keys
	Clock  clock.PassiveClock
	// Namespace is the installation's, in which SharedServers have an effect.
	Namespace string
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, s *v1alpha1.SharedServer) (ctrl.Result, error) {
	if s.DeletionTimestamp != nil || s.Namespace != r.Namespace {
		return ctrl.Result{}, nil // Its Secrets are deleted with it.
	}
	now := r.Clock.Now()
	o, err := r.observe(ctx, s, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	after, again := decide(s, o, now), o.lapse
	if equality.Semantic.DeepEqual(s.Status, after) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	err = r.applyStatus(ctx, s, after)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil // The cache is late.
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// observe reads what the status depends on. Envelopes of another than the current key are
// wrapped again on the way.
func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.SharedServer, now time.Time) (observed, error) {
	var o observed
	var all v1alpha1.SharedServerList
	var persons v1alpha1.BridgePersonList
	for _, list := range []client.ObjectList{&all, &persons} {
		if err := r.Client.List(ctx, list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return o, fmt.Errorf("list %T: %w", list, err)
		}
	}
	o.refused = profile.RefusesShared(s, all.Items)
	o.members, o.lapse = members(s, persons.Items, now)
	of := secretstore.Shared(s.Namespace, s.Name, s.UID)
	var err error
	o.listing, _, err = r.Store.Rewrap(ctx, of)
	if err == nil && len(o.listing.Entries) > 0 {
		var opened secretstore.Opened
		opened, err = r.Store.Open(ctx, of)
		opened.Wipe()
		o.unreadable = opened.Unreadable
	}
	if errors.Is(err, secretstore.ErrNotOwned) || errors.Is(err, secretstore.ErrNotReady) {
		o.notOwned, err = true, nil
	}
	if err != nil {
		return o, fmt.Errorf("look at what is sealed: %w", err)
	}
	return o, nil
}

func (r *Reconciler) applyStatus(ctx context.Context, s *v1alpha1.SharedServer, after v1alpha1.SharedServerStatus) error {
	object := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, ResourceVersion: s.ResourceVersion}}
	err := r.Client.Status().Patch(ctx, object, apply.Status(after), client.FieldOwner(v1alpha1.FieldOwnerKeybroker), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	return nil
}
