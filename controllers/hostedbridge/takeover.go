// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// takeoverPriority is above the priority of all events.
const takeoverPriority = 100

// enqueueAtTakeover runs when this operator begins to lead. It enqueues first
// the bridges whose current generation was not observed. All others are
// enqueued too, but to reconcile ten thousand takes ten seconds.
func (m eventMapper) enqueueAtTakeover(elected <-chan struct{}) source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok {
			return nil
		}
		go func() {
			select {
			case <-elected:
				m.enqueueUnobserved(ctx, p)
			case <-ctx.Done():
			}
		}()
		return nil
	})
}

func (m eventMapper) enqueueUnobserved(ctx context.Context, q priorityqueue.PriorityQueue[reconcile.Request]) {
	var list v1alpha1.HostedBridgeList
	if err := m.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list HostedBridges to begin with")
		return
	}
	for i := range list.Items {
		if b := &list.Items[i]; b.Status.ObservedGeneration != b.Generation {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(takeoverPriority)}, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
}
