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
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// isolation reads whether the bridge's pod is isolated from others.
func (r *Reconciler) isolation(ctx context.Context, b *v1alpha1.HostedBridge) (bridgestate.Isolation, error) {
	i := bridgestate.Isolation{Policies: r.Settings.NetworkPolicy, Required: r.Settings.RequireNetworkPolicy}
	if !i.Policies {
		return i, nil
	}
	if i.Probed = r.Network != nil; i.Probed {
		i.Enforcement, i.Why = r.Network.Known()
	}
	policy := &networkingv1.NetworkPolicy{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: bridgeobjects.PolicyName}, policy, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return i, fmt.Errorf("get NetworkPolicy: %w", err)
	}
	i.PolicyExists = err == nil && apply.Installed(policy)
	return i, nil
}

// watchNetwork adds the watches of objects that change the isolation of
// bridges.
func (r *Reconciler) watchNetwork(c *builder.Builder, events eventMapper) {
	if !r.Settings.NetworkPolicy {
		return // Without this the operator needs no right to read policies.
	}
	c.Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(events.bridgesOfNamespace), initiallist.Skip(comesOrGoes()))
	if r.Network != nil {
		c.WatchesRawSource(source.Channel(r.Network.Changes(), handler.EnqueueRequestsFromMapFunc(events.everyBridge)))
	}
}

// bridgesOfNamespace maps a namespace's policy to all bridges that it holds
// for.
func (m eventMapper) bridgesOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetName() != bridgeobjects.PolicyName {
		return nil
	}
	return m.requests(ctx, client.InNamespace(o.GetNamespace()))
}

// comesOrGoes passes an object that is created or deleted, and no other change:
// another controller keeps the policy's content up to date.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}
