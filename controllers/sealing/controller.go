// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sealing keeps each user's secrets as their HostedBridge says: it
// seals the Secrets of spec.secretRefs, wraps envelopes anew when the master
// key has another version, and reports into status.secrets and
// status.keyVersion. It is a shell around decide, which is pure, and runs in
// the keybroker, the one process that may read Secrets.
//
// All of its state is in the envelopes and their index, and each change is one
// conditional write. So it may end at any point, and several may run at once.
package sealing

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Store keeps the bridges' secrets.
type Store interface {
	List(ctx context.Context, b store.Bridge) (store.Listing, error)
	Update(ctx context.Context, b store.Bridge, decide func(ctx context.Context, current store.Listing, open func(name string) ([]byte, error)) ([]store.Change, error)) (store.Listing, error)
	Rewrap(ctx context.Context, b store.Bridge) (int, error)
	Open(ctx context.Context, b store.Bridge) (store.Opened, error)
}

// Keys is the master key's state.
type Keys interface {
	// Current is what envelopes should be wrapped under.
	Current() envelope.KeyID
	// Changed is closed when Current, or what opens, has changed.
	Changed() <-chan struct{}
}

// Settings are what an installation decides for all of its bridges.
type Settings struct {
	// Namespace is the installation's own. No Secret of it is sealed.
	Namespace string
	Tiers     quota.Tiers
	// Concurrency is how many bridges are reconciled at a time. It bounds the
	// load on the API server while a new version of the master key is taken up.
	Concurrency int
}

// Reconciler reconciles one HostedBridge at a time.
type Reconciler struct {
	// Client reads from caches that have the indexes of Indexes, and writes.
	Client client.Client
	// Live reads Secrets, of which the caches hold metadata only.
	Live     client.Reader
	Store    Store
	Keys     Keys
	Recorder events.EventRecorder
	Metrics  *Metrics
	Settings Settings
}

// outcome is what a reconcile has done and found.
type outcome struct {
	listing  store.Listing
	failures []v1alpha1.SecretFailure
	// delete names the sources that may go now.
	delete []string
	// sealed and rewrapped count what was written.
	sealed, rewrapped int
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	b := &v1alpha1.HostedBridge{}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, request.NamespacedName, b)); err != nil {
		return ctrl.Result{}, fmt.Errorf("get HostedBridge: %w", err)
	}
	if b.UID == "" || b.DeletionTimestamp != nil {
		r.Metrics.forget(request.NamespacedName)
		return ctrl.Result{}, nil // It is gone or goes, and its envelopes with it.
	}
	return ctrl.Result{}, r.reconcile(ctx, b)
}

func (r *Reconciler) reconcile(ctx context.Context, b *v1alpha1.HostedBridge) error {
	sources, err := r.observe(ctx, b)
	defer wipe(sources)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	out, err := r.seal(ctx, b, sources)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	err = errors.Join(r.deleteSources(ctx, b, sources, &out), r.rewrap(ctx, b, &out), r.try(ctx, b, &out))
	r.Metrics.set(client.ObjectKeyFromObject(b), out)
	return errors.Join(err, r.report(ctx, b, out))
}

func reference(b *v1alpha1.HostedBridge) store.Bridge {
	return store.Bridge{Namespace: b.Namespace, Name: b.Name, UID: b.UID}
}
