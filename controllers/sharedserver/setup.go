// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sharedserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// Name names the controller in logs and metrics.
const Name = "sharedserver"

const (
	// conflictRetry is longer than caches lag behind.
	conflictRetry = 200 * time.Millisecond
	// settle is how long changes of people are collected before they are counted, so that
	// a morning of logins is not a write for each.
	settle = 2 * time.Second
	// lastRetry bounds the wait after an error, which doubles.
	firstRetry, lastRetry = 5 * time.Millisecond, time.Minute
)

// Setup adds the controller to m, whose cache must have SharedServers, BridgePersons and the
// metadata of Secrets in the installation's namespace.
func (r *Reconciler) Setup(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.SharedServer{}, builder.WithPredicates(specOrReportChanged())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.serversOfSecret), builder.OnlyMetadata, initiallist.Skip()).
		Watches(&v1alpha1.BridgePerson{}, r.enqueueAllLater(), initiallist.Skip(personChanged())).
		Watches(&v1alpha1.SharedServer{}, r.enqueueAllLater(), initiallist.Skip(created())).
		WatchesRawSource(ctrlsource.Func(r.watchKeys)).
		WithOptions(controller.Options{
			SkipNameValidation: new(true), // One process has a new manager each time that it leads.
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

// specOrReportChanged passes a changed spec and a changed status: the status is compared with
// the cache before it is written, so a change that the cache did not have yet must pass here.
func specOrReportChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.SharedServer)
		after, ok2 := e.ObjectNew.(*v1alpha1.SharedServer)
		return !ok || !ok2 || before.Generation != after.Generation || before.UID != after.UID || !equality.Semantic.DeepEqual(before.Status, after.Status)
	}}
}

// created passes SharedServers that come and go: there is room for so many.
func created() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// personChanged passes what makes people members, or takes their access.
func personChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgePerson)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgePerson)
		return !ok || !ok2 || access.Differs(before, after)
	}}
}

// enqueueAllLater enqueues all SharedServers after a moment, each once for many events.
func (r *Reconciler) enqueueAllLater() handler.EventHandler {
	add := func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range r.requests(ctx) {
			q.AddAfter(request, settle)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
	}
}

// watchKeys enqueues all SharedServers when the master key has changed.
func (r *Reconciler) watchKeys(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changed := r.Keys.Changed()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			changed = r.Keys.Changed() // Before the caller reads the keys.
			for _, request := range r.requests(ctx) {
				queue.Add(request)
			}
		}
	}()
	return nil
}

// serversOfSecret maps a Secret to the SharedServer that needs its name. The cache has no
// owners, and a Secret of another owner stands in the way too.
func (r *Reconciler) serversOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetNamespace() != r.Namespace {
		return nil
	}
	return slices.DeleteFunc(r.requests(ctx), func(request reconcile.Request) bool {
		of := secretstore.Shared(request.Namespace, request.Name, "")
		return secret.GetName() != of.EnvelopesName() && secret.GetName() != of.SaltName()
	})
}

func (r *Reconciler) requests(ctx context.Context) []reconcile.Request {
	var list v1alpha1.SharedServerList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list SharedServers")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

var _ reconcile.ObjectReconciler[*v1alpha1.SharedServer] = (*Reconciler)(nil)
