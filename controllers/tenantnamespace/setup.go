// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantnamespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Name names the controller in logs and metrics.
const Name = "tenantnamespace"

// tenants selects the pods that the policy holds for.
var tenants = client.MatchingLabels(v1alpha1.BridgePodLabels())

// CacheOptions limit the cache of network policies to the installation's own.
// Others may be many and large.
func CacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&networkingv1.NetworkPolicy{}: {Label: labels.SelectorFromSet(labels.Set{
			v1alpha1.LabelName:      v1alpha1.NameValue,
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		})},
	}
}

// Setup adds the controller to m, whose cache must have the CacheOptions and
// those of the controller of HostedBridges.
func (r *Reconciler) Setup(m ctrl.Manager) error {
	toNamespace := handler.EnqueueRequestsFromMapFunc(namespaceOf)
	b := ctrl.NewControllerManagedBy(m).Named(Name).Watches(&networkingv1.NetworkPolicy{}, toNamespace)
	if !r.RemoveOnly {
		b = b.Watches(&v1alpha1.HostedBridge{}, toNamespace, builder.WithPredicates(comesOrGoes())).
			Watches(&corev1.Pod{}, toNamespace, builder.WithPredicates(goes()))
	}
	err := b.
		WithOptions(controller.Options{
			EnableWarmup:       new(true), // A new leader takes over with caches that are filled.
			SkipNameValidation: new(true), // One test process runs several managers, one after the other.
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

func namespaceOf(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetNamespace()}}}
}

// comesOrGoes passes an object that is created or deleted, and no other change:
// its content does not matter to its namespace.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// goes passes an object that is deleted: the policy outlives the last pod.
func goes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
