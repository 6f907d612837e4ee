// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostedbridge creates the objects that each HostedBridge needs, and
// reports the result in its status. It is a shell around packages bridgestate
// and bridgeobjects: it reads, asks them, and writes.
//
// It never writes the user's spec, and it needs no finalizer: the HostedBridge
// owns all objects that it creates, so Kubernetes deletes them with it, except for
// the claims of servers whose files are to be retained.
package hostedbridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Settings are what an installation decides for all of its bridges.
type Settings struct {
	bridgeobjects.Settings
	// BaseURL is the ingress's public address, without a path: a bridge's URL
	// is BaseURL/u/<userID>/mcp.
	BaseURL string
	// Namespace is the installation's own namespace, where the keybroker
	// publishes its certificate.
	Namespace string
	// CatalogNamespace is where the catalog's recipes are.
	CatalogNamespace string
	// Tiers are the installation's tiers.
	Tiers quota.Tiers
	// MinIdleTimeout is the shortest idleTimeout that is accepted; zero accepts
	// any.
	MinIdleTimeout time.Duration
	// NetworkPolicy means that each namespace with tenants has a policy.
	// RequireNetworkPolicy means that no tenant is accepted while the cluster
	// does not enforce it.
	NetworkPolicy, RequireNetworkPolicy bool
	// MaxWaking is how many bridges may start at once because they were called;
	// zero means no limit.
	MaxWaking int
}

// Network tells whether the cluster's network enforces network policies.
type Network interface {
	// Known returns the result, and the reason why there is no result yet.
	Known() (bridgestate.Enforcement, string)
	// Changes gets an event whenever the result changes.
	Changes() <-chan event.GenericEvent
}

// Reconciler reconciles one HostedBridge at a time.
type Reconciler struct {
	// Client reads from caches that have the indexes of Index, and writes.
	Client client.Client
	// Live reads objects that the caches do not hold.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Settings Settings
	// Network tells whether policies are enforced. Without it nothing is
	// probed.
	Network Network

	// pacer says when a change of a profile may reach a bridge.
	pacer profile.Pacer

	// followed is when the first reconciliation of this process began.
	followed     sync.Once
	followedFrom time.Time
}

// Reconcile brings the bridge's objects and its status up to date. The bridge's next
// request has the usual priority, whatever the priority of this one was.
func (r *Reconciler) Reconcile(ctx context.Context, b *v1alpha1.HostedBridge) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, b)
	result.Priority = new(0)
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, b *v1alpha1.HostedBridge) (ctrl.Result, error) {
	if b.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // Kubernetes deletes its objects; creating them again would delay that.
	}
	now := r.Clock.Now()
	r.followed.Do(func() { r.followedFrom = now })
	stored := b.Status
	merged, claims, err := r.inEffect(ctx, b, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	observed, err := r.observe(ctx, merged.bridge, claims, now)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	observed.Before, observed.PendingProfiles, observed.UnknownGroups = stored, merged.pending, merged.unknownGroups
	observed = observed.AfterTerminations(now)
	p, settings, err := bundler{r.Client, r.Settings.Namespace}.decide(ctx, &observed, r.Settings.Settings, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	outcome, err := r.apply(ctx, observed.Bridge, p, settings)
	if err != nil && outcome.Failed == (bridgestate.Finding{}) {
		return ctrl.Result{}, err // The API server did not answer, so there is nothing to report in a status.
	}
	deferred, failed := r.applyStatus(ctx, observed, p, outcome)
	err = errors.Join(err, r.tell(ctx, observed, p, outcome, settings), failed)
	if err == nil {
		// The pod's terminations are in the status now.
		err = errors.Join(r.replace(ctx, b, p), r.drop(ctx, b, p))
	}
	return ctrl.Result{RequeueAfter: earlier(earlier(deferred, merged.wait), earlier(outcome.RequeueAfter(), p.RequeueAfter))}, err
}

// inEffect returns the bridge as its people, profiles and recipes change it now, and the claims
// of its servers.
func (r *Reconciler) inEffect(ctx context.Context, b *v1alpha1.HostedBridge, now time.Time) (profiled, []bridgestate.Claim, error) {
	people, err := peopleOf(ctx, r.Client, r.Settings.Namespace, b)
	if err != nil {
		return profiled{}, nil, err
	}
	profiles := profiler{r.Client, r.Settings.Namespace, r.Settings.Tiers, &r.pacer}
	merged, err := profiles.apply(ctx, withAccess(b, people, now), people, now)
	if err != nil {
		return profiled{}, nil, fmt.Errorf("apply profiles: %w", err)
	}
	claims, err := r.claims(ctx, b)
	if err != nil {
		return profiled{}, nil, err
	}
	merged.bridge, err = withRecipes(ctx, r.Client, r.Settings, merged.bridge, claims)
	if err != nil {
		return profiled{}, nil, fmt.Errorf("resolve recipes: %w", err)
	}
	return merged, claims, nil
}

// earlier returns the shorter of two times to wait; zero means none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// applier returns the writer of the bridge's objects.
func (r *Reconciler) applier() *apply.Applier {
	return &apply.Applier{Client: r.Client, Live: r.Live, FieldOwner: v1alpha1.FieldOwnerOperator}
}
