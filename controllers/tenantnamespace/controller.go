// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenantnamespace gives each namespace with HostedBridges one
// NetworkPolicy, which holds for the pods of all of them. It is keyed by the
// namespace: a namespace with two thousand users is written once.
package tenantnamespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
)

// foreignRetry is when to look again at a policy with another owner. Only the
// installation's own policies are watched, so its deletion causes no event.
const foreignRetry = time.Minute

// Reconciler reconciles one namespace at a time.
type Reconciler struct {
	// Client reads from caches that have the CacheOptions, and writes.
	Client client.Client
	// Live reads objects that the caches do not hold.
	Live client.Reader
	// Network is what the policies say.
	Network bridgeobjects.Network
	// RemoveOnly creates no policies, and removes those that an earlier
	// configuration of the installation created. It needs Client alone.
	RemoveOnly bool
}

// need is the policy that a namespace needs.
type need int

const (
	// nothing: no tenant is left that the policy holds for.
	nothing need = iota
	// whatIsThere: the pods of the last tenants are ending, and an existing
	// policy stays as long as they run.
	whatIsThere
	// policy: there are tenants.
	policy
)

func needed(bridges, pods bool) need {
	switch {
	case bridges:
		return policy
	case pods:
		return whatIsThere
	default:
		return nothing
	}
}

// Reconcile brings the policy of the namespace that r names up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	namespace := request.Name
	need, err := r.need(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	found := &networkingv1.NetworkPolicy{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: bridgeobjects.PolicyName}, found)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get NetworkPolicy: %w", err)
	}
	exists := err == nil
	switch need {
	case policy:
		return r.apply(ctx, namespace, found)
	case nothing:
		if exists && apply.Installed(found) {
			return ctrl.Result{}, r.remove(ctx, found)
		}
	case whatIsThere:
	}
	return ctrl.Result{}, nil
}

// need finds what the namespace needs.
func (r *Reconciler) need(ctx context.Context, namespace string) (need, error) {
	if r.RemoveOnly {
		return nothing, nil
	}
	bridges, err := r.bridges(ctx, namespace)
	if err != nil {
		return nothing, err
	}
	pods, err := hasPods(ctx, r.Client, namespace)
	return needed(bridges, pods), err
}

// remove removes the policy, unless a pod runs of which the cache does not know yet. The
// end of the pod is an event.
func (r *Reconciler) remove(ctx context.Context, found *networkingv1.NetworkPolicy) error {
	if !r.RemoveOnly {
		if pods, err := hasPods(ctx, r.Live, found.Namespace); err != nil || pods {
			return err
		}
	}
	return r.applier().Remove(ctx, found)
}

// apply writes the policy unless it is already as it should be.
func (r *Reconciler) apply(ctx context.Context, namespace string, found *networkingv1.NetworkPolicy) (ctrl.Result, error) {
	wanted, err := bridgeobjects.NetworkPolicy(namespace, r.Network)
	if err != nil {
		return ctrl.Result{}, err
	}
	if same, err := holds(found, wanted); err != nil || same {
		return ctrl.Result{}, err
	}
	err = r.applier().Shared(ctx, wanted)
	if foreign, ok := errors.AsType[*apply.ForeignError](err); ok {
		// The condition NetworkIsolated informs the users; this log line
		// informs the administrator.
		log.FromContext(ctx).Info("a namespace with tenants has no policy of ours", "namespace", namespace, "cause", foreign.Error())
		return ctrl.Result{RequeueAfter: foreignRetry}, nil
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return ctrl.Result{}, nil // No pod starts there any more.
	}
	return ctrl.Result{}, err
}

// holds reports whether the policy that was found is the wanted one.
func holds(found *networkingv1.NetworkPolicy, wanted *networkingv1ac.NetworkPolicyApplyConfiguration) (bool, error) {
	if found.UID == "" || !apply.Installed(found) {
		return false, nil
	}
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return false, fmt.Errorf("compare NetworkPolicy: %w", err)
	}
	var want networkingv1.NetworkPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(encoded, &want); err != nil {
		return false, fmt.Errorf("compare NetworkPolicy: %w", err)
	}
	for name, value := range want.Labels {
		if found.Labels[name] != value {
			return false, nil
		}
	}
	return equality.Semantic.DeepEqual(found.Spec, want.Spec), nil
}

// bridges reports whether the namespace has HostedBridges.
func (r *Reconciler) bridges(ctx context.Context, namespace string) (bool, error) {
	var list v1alpha1.HostedBridgeList
	// One is enough to know, and the object is not changed.
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list HostedBridges: %w", err)
	}
	return len(list.Items) > 0, nil
}

// hasPods reports whether the namespace has pods of tenants.
func hasPods(ctx context.Context, reader client.Reader, namespace string) (bool, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), tenants, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list pods: %w", err)
	}
	return len(list.Items) > 0, nil
}

func (r *Reconciler) applier() *apply.Applier {
	return &apply.Applier{Client: r.Client, Live: r.Live, FieldOwner: v1alpha1.FieldOwnerOperator}
}
