// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestANewLeaderBeginsWithWhatNobodyHasLookedAt waits with a queue that has all
// bridges, as one has that did not lead for long.
func TestANewLeaderBeginsWithWhatNobodyHasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bridges []v1alpha1.HostedBridge
		for i := range 100 {
			b := v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%02d", i), Generation: 2}}
			b.Status.ObservedGeneration = 2
			bridges = append(bridges, b)
		}
		// One that was changed, and a new one.
		bridges[70].Status.ObservedGeneration, bridges[90].Status.ObservedGeneration = 1, 0
		m := eventMapper{client: cached{bridges: bridges}}
		q := priorityqueue.New[reconcile.Request]("")
		defer q.ShutDown()
		for i := range bridges {
			request := reconcile.Request{}
			request.Name = bridges[i].Name
			q.Add(request)
		}
		elected := make(chan struct{})
		must.Succeed(t, m.enqueueAtTakeover(elected).Start(t.Context(), q))
		synctest.Wait()
		if first, _ := q.Get(); first.Name != "b00" {
			t.Errorf("before it leads, %s is first", first.Name)
		}
		close(elected)
		synctest.Wait()
		var first []string
		for range 2 {
			request, _ := q.Get()
			first = append(first, request.Name)
		}
		if slices.Sort(first); !slices.Equal(first, []string{"b70", "b90"}) {
			t.Errorf("it begins with %v", first)
		}
	})
}
