// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
)

// Name names the controller in logs and metrics.
const Name = "sealing"

// firstRetry and lastRetry bound the wait after an error, which doubles.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Minute
)

// Setup adds the controller to m, whose cache must have the CacheOptions.
func (r *Reconciler) Setup(ctx context.Context, m ctrl.Manager) error {
	if err := addIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.HostedBridge{}, builder.WithPredicates(specOrReportChanged())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.bridgesOfSecret), builder.OnlyMetadata, initiallist.Skip(secretChanged())).
		Watches(&v1alpha1.SharedServer{}, handler.EnqueueRequestsFromMapFunc(bridgesOfShared(r)), initiallist.Skip(sharedChanged())).
		Watches(&v1alpha1.BridgePerson{}, handler.EnqueueRequestsFromMapFunc(bridgesOf(r, indexSharer)), initiallist.Skip(sharerChanged())).
		Watches(&v1alpha1.BridgePerson{}, handler.EnqueueRequestsFromMapFunc(bridgesOf(r, indexUser)), initiallist.Skip(accessChanged())).
		WatchesRawSource(ctrlsource.Func(r.watchKeys)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.Settings.Concurrency,
			SkipNameValidation:      new(true), // One process has a new manager each time that it leads.
			// When a Vault or an API server is back after hours, no bridge
			// waits longer than this.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}
