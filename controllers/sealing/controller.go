// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sealing keeps each user's secrets in line with their HostedBridge: it
// seals the Secrets of spec.secretRefs, wraps envelopes again when the master
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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Store keeps the bridges' secrets.
type Store interface {
	List(ctx context.Context, b secretstore.Bridge) (secretstore.Listing, error)
	Update(ctx context.Context, b secretstore.Bridge, decide func(ctx context.Context, current secretstore.Listing, open func(name string) ([]byte, error)) ([]secretstore.Change, error)) (secretstore.Listing, error)
	Rewrap(ctx context.Context, b secretstore.Bridge) (secretstore.Listing, int, error)
	Open(ctx context.Context, b secretstore.Bridge) (secretstore.Opened, error)
	// CheckSalt returns an error when no secret of the bridge can be opened
	// because its salt is missing.
	CheckSalt(ctx context.Context, b secretstore.Bridge) error
	// Retain notes until when the secrets are kept; the zero time removes the note.
	Retain(ctx context.Context, b secretstore.Bridge, until time.Time) error
	// Destroy deletes the salt and the secrets.
	Destroy(ctx context.Context, b secretstore.Bridge) error
}

// Keys is the master key's state.
type Keys interface {
	// Current is the key under which envelopes should be wrapped.
	Current() envelope.KeyID
	// Minimum is the lowest version that still opens.
	Minimum() uint32
	// Changed is closed when Current, or the set of keys that open envelopes,
	// has changed.
	Changed() <-chan struct{}
}

// Settings are what an installation decides for all of its bridges.
type Settings struct {
	// Namespace is the installation's own. No Secret in it is sealed.
	Namespace string
	Tiers     quota.Tiers
	// Concurrency is how many bridges are reconciled at a time. It bounds the
	// load on the API server while a new version of the master key is adopted.
	Concurrency int
	// Retention is how long the secrets of people who are offboarded are kept.
	Retention time.Duration
}

// Reconciler reconciles one HostedBridge at a time.
type Reconciler struct {
	// Client reads from caches that have the indexes of Indexes, and writes.
	Client client.Client
	// Live reads Secrets: the caches hold only their metadata.
	Live     client.Reader
	Store    Store
	Keys     Keys
	Recorder events.EventRecorder
	Metrics  *Metrics
	Clock    clock.PassiveClock
	Settings Settings
}

// outcome is what a reconcile has done and found.
type outcome struct {
	listing  secretstore.Listing
	failures []v1alpha1.SecretFailure
	// delete are the sources that may go now.
	delete []deletion
	// sealed and rewrapped count what was written.
	sealed, rewrapped int
	// blocked means that the bridge waits for a change that causes no event:
	// another bridge names a source, or a quota is full.
	blocked bool
	// retainedUntil and destroyed are set for a bridge whose users are offboarded: when its
	// secrets are destroyed, and when they were.
	retainedUntil, destroyed *metav1.Time
	// grants are what the bridge may have of SharedServers, until lapse unless that is zero.
	grants []sharing.Grant
	lapse  time.Time
}

// again returns after which time the bridge is looked at again although nothing changed, 0
// for never.
func (o outcome) again(now time.Time) time.Duration {
	var again time.Duration
	if o.blocked {
		again = blockedRetry
	}
	if o.retainedUntil != nil && o.destroyed == nil {
		if left := o.retainedUntil.Sub(now); again == 0 || left < again {
			again = left
		}
	}
	if !o.lapse.IsZero() {
		if left := max(o.lapse.Sub(now), time.Second); again == 0 || left < again {
			again = left
		}
	}
	return again
}

// deletion is a source to delete, in the state in which it was read.
type deletion struct {
	name, resourceVersion string
	uid                   types.UID
}

// blockedRetry is when a blocked bridge is reconciled again.
const blockedRetry = time.Minute

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	b := &v1alpha1.HostedBridge{}
	if err := client.IgnoreNotFound(r.Client.Get(ctx, request.NamespacedName, b)); err != nil {
		return ctrl.Result{}, fmt.Errorf("get HostedBridge: %w", err)
	}
	if b.UID == "" || b.DeletionTimestamp != nil {
		r.Metrics.forget(request.NamespacedName)
		return ctrl.Result{}, nil // The bridge is deleted or being deleted, and its envelopes with it.
	}
	result, err := r.reconcile(ctx, b)
	if err != nil && ctx.Err() == nil {
		r.Metrics.errors.Inc()
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, b *v1alpha1.HostedBridge) (ctrl.Result, error) {
	now := r.Clock.Now()
	until, err := r.retainedUntil(ctx, b, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	var out outcome
	if until != nil && !now.Before(until.Time) {
		out, err = destroy(ctx, r.Store, b, until, now)
	} else {
		out, err = r.keep(ctx, b)
		out.retainedUntil = until
		if err == nil && until == nil && !out.listing.RetainedUntil.IsZero() {
			err = r.Store.Retain(ctx, reference(b), time.Time{}) // Its people are back.
		}
		if err == nil {
			out.grants, out.lapse, err = sharing.Grants(ctx, installed{r.Client, r.Settings.Namespace}, b, now)
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.deleteSources(ctx, b, &out)
	r.Metrics.set(client.ObjectKeyFromObject(b), out)
	return ctrl.Result{RequeueAfter: out.again(now)}, errors.Join(err, r.report(ctx, b, out))
}

// keep brings the envelopes in line with the spec and the master key. A secret
// that does not open and has a source is sealed from it once more.
func (r *Reconciler) keep(ctx context.Context, b *v1alpha1.HostedBridge) (outcome, error) {
	out, broken, err := r.keepOnce(ctx, b, nil)
	if managed := managed(out.listing, broken); err == nil && len(managed) > 0 {
		out, broken, err = r.keepOnce(ctx, b, managed)
	}
	out.failures = append(out.failures, unreadable(out.listing, broken)...)
	return out, err
}

// keepOnce is keep for one pass. It checks the values of the suspects although
// their sources did not change, and returns the names of the secrets that do
// not open.
func (r *Reconciler) keepOnce(ctx context.Context, b *v1alpha1.HostedBridge, suspects []string) (outcome, []string, error) {
	out, err := r.seal(ctx, b, suspects)
	if err != nil {
		return out, nil, fmt.Errorf("seal: %w", err)
	}
	if err := r.rewrap(ctx, b, &out); err != nil {
		return out, nil, err
	}
	broken, err := r.try(ctx, b, out)
	return out, broken, err
}

func reference(b *v1alpha1.HostedBridge) secretstore.Bridge {
	return secretstore.Bridge{Namespace: b.Namespace, Name: b.Name, UID: b.UID}
}
