// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// keybrokerService is the Service by which pods reach the keybroker. Its
// EndpointSlices say whether any pod is behind it.
const keybrokerService = "hosted-bridge-keybroker"

// keybrokerSlices selects the keybroker's EndpointSlices. There is one for each
// family of addresses, and none while the Service does not exist.
var keybrokerSlices = labels.Set{discoveryv1.LabelServiceName: keybrokerService}

// keybrokerReady reports whether any keybroker is ready.
func (r *Reconciler) keybrokerReady(ctx context.Context) (bool, error) {
	var found discoveryv1.EndpointSliceList
	err := r.Client.List(ctx, &found, client.InNamespace(r.Settings.Namespace), client.MatchingLabels(keybrokerSlices))
	if err != nil {
		return false, fmt.Errorf("list the keybroker's EndpointSlices: %w", err)
	}
	return slices.ContainsFunc(found.Items, anyReady), nil
}

// anyReady reports whether an endpoint of the slice can be called. The API
// defines that an endpoint without the ready condition can.
func anyReady(s discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
}

// keybrokerChanged passes an EndpointSlice that gets its first ready endpoint
// or loses its last. Other changes affect no decision, and each would reconcile
// every bridge.
func keybrokerChanged() predicate.Predicate {
	ready := func(o client.Object) bool {
		s, ok := o.(*discoveryv1.EndpointSlice)
		return ok && anyReady(*s)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ready(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return ready(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return ready(e.ObjectOld) != ready(e.ObjectNew) },
	}
}
