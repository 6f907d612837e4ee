// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// isolation reads what keeps the bridge's pod from others.
func (r *Reconciler) isolation(ctx context.Context, b *v1alpha1.HostedBridge) (plan.Isolation, error) {
	i := plan.Isolation{Policies: r.Settings.NetworkPolicy, Required: r.Settings.RequireNetworkPolicy}
	if !i.Policies {
		return i, nil
	}
	if i.Probed = r.Network != nil; i.Probed {
		i.Enforcement, i.Why = r.Network.Known()
	}
	policy := &networkingv1.NetworkPolicy{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: desired.PolicyName}, policy)
	if client.IgnoreNotFound(err) != nil {
		return i, fmt.Errorf("get NetworkPolicy: %w", err)
	}
	i.PolicyExists = err == nil && apply.Installed(policy)
	return i, nil
}

// watchNetwork adds to the controller what changes the isolation of bridges.
func (r *Reconciler) watchNetwork(c *builder.Builder) {
	if !r.Settings.NetworkPolicy {
		return // Nobody needs the right to look at policies.
	}
	c.Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(r.bridgesOfNamespace), builder.WithPredicates(comesOrGoes()))
	if r.Network != nil {
		c.WatchesRawSource(source.Channel(r.Network.Changes(), handler.EnqueueRequestsFromMapFunc(r.everyBridge)))
	}
}

// bridgesOfNamespace maps a namespace's policy to all whom it holds for.
func (r *Reconciler) bridgesOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetName() != desired.PolicyName {
		return nil
	}
	return r.requests(ctx, client.InNamespace(o.GetNamespace()))
}

// comesOrGoes passes no change of an object: what a policy says is brought up to
// date by somebody else.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}
