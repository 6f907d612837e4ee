// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// followPace is the pause between two running bridges that adopt a recipe's new
// version: it may restart their programs, and the cluster and the package
// registry can serve ten of these in a second.
const followPace = 100 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueUsersOfRecipe enqueues the bridges that a recipe's change concerns, and no
// others: thousands may name a recipe, most changes are a new version, and a bridge
// that pins an older one is not affected. They come after requests that users are
// waiting for.
func (m eventMapper) enqueueUsersOfRecipe() handler.EventHandler {
	all := func(ctx context.Context, o client.Object, q queue) {
		m.enqueueUsers(ctx, q, 0, followers(o.GetName()), pinners(o.GetName()))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { all(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*v1alpha1.CatalogRecipe)
			after, ok2 := e.ObjectNew.(*v1alpha1.CatalogRecipe)
			if !ok || !ok2 {
				return
			}
			uses, pace := concerned(before, after)
			m.enqueueUsers(ctx, q, pace, uses...)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { all(ctx, e.Object, q) },
	}
}

// enqueueUsers enqueues the bridges of those uses: those without a pod at once, and
// each of the others by pace later than the one before.
func (m eventMapper) enqueueUsers(ctx context.Context, q queue, pace time.Duration, uses ...string) {
	after := time.Duration(0)
	for _, use := range uses {
		var list v1alpha1.HostedBridgeList
		if err := m.client.List(ctx, &list, client.MatchingFields{indexRecipe: use}, client.UnsafeDisableDeepCopy); err != nil {
			// A read of a filled cache fails only when the process ends.
			log.FromContext(ctx).Error(err, "list HostedBridges of a recipe")
			return
		}
		for i := range list.Items {
			b := &list.Items[i]
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}
			if b.Status.PodName == "" {
				addLast(q, 0, request)
				continue
			}
			addLast(q, after, request)
			after += pace
		}
	}
}

// addLast enqueues a bridge after a delay, behind requests that users wait for.
func addLast(q queue, after time.Duration, request reconcile.Request) {
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority), After: after}, request)
		return
	}
	q.AddAfter(request, after)
}

// concerned returns the uses that a recipe's change concerns, and the delay
// between their bridges. A version that must not run any more has no delay.
func concerned(before, after *v1alpha1.CatalogRecipe) ([]string, time.Duration) {
	name := after.Name
	if before.UID != after.UID || !equality.Semantic.DeepEqual(standingOf(before), standingOf(after)) {
		return []string{followers(name), pinners(name)}, 0
	}
	var uses []string
	if latest(before) != latest(after) {
		uses = append(uses, followers(name))
	}
	was, is := digests(before), digests(after)
	for version := range is {
		if was[version] != is[version] {
			uses = append(uses, pinnersOf(name, version))
		}
	}
	for version := range was {
		if _, there := is[version]; !there {
			uses = append(uses, pinnersOf(name, version))
		}
	}
	return uses, followPace
}

// standing is what the catalog says of all versions of a recipe.
type standing struct {
	TakenBack  bool
	Deleted    bool
	Deprecated *v1alpha1.RecipeDeprecation
	Withdrawn  map[string]bool
	// Verdict is what the catalog says of a recipe without a version to run.
	// That it refuses a new version does not concern bridges that run another
	// version.
	Verdict string
}

func standingOf(o *v1alpha1.CatalogRecipe) standing {
	s := standing{
		TakenBack: o.Spec.Recipe == nil, Deleted: o.Spec.Deleted != nil,
		Deprecated: o.Spec.Deprecated, Withdrawn: map[string]bool{},
	}
	for _, v := range o.Status.Versions {
		if v.Withdrawn {
			s.Withdrawn[v.Digest] = true
		}
	}
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
	if c != nil && (len(o.Status.Versions) == 0 || len(s.Withdrawn) > 0) {
		s.Verdict = string(c.Status) + c.Message
	}
	return s
}

func latest(o *v1alpha1.CatalogRecipe) string {
	if len(o.Status.Versions) == 0 {
		return ""
	}
	return o.Status.Versions[0].Digest
}

func digests(o *v1alpha1.CatalogRecipe) map[string]string {
	all := make(map[string]string, len(o.Status.Versions))
	for _, v := range o.Status.Versions {
		all[v.Version] = v.Digest
	}
	return all
}
