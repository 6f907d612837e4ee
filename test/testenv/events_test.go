// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// The processes report a change twice where their cache is late. The second
// report is counted in the first one's event, which takes a right that no test
// can have a running process use.
func TestAnEventThatHappensAgainIsCounted(t *testing.T) {
	for _, process := range []string{"operator", "keybroker"} {
		t.Run("by the "+process, func(t *testing.T) {
			c := testenv.Client(t)
			namespace := testenv.Namespace(t, c)
			testenv.ExpectInstalled(t, c, "../../config/rbac/"+process+".yaml", namespace)
			b := valid(namespace, "alice-"+process)
			testenv.ExpectApplied(t, c, b)

			config := testenv.Config()
			config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-" + process}
			clients := must.Value(kubernetes.NewForConfig(config))(t)
			// Roles and bindings reach the authorizer some time after they are made.
			wait.Until(t, "the process may write events", func() bool {
				_, err := clients.EventsV1().Events(namespace).Patch(t.Context(), "none", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
				return apierrors.IsNotFound(err)
			})
			broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
			must.Succeed(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
			defer broadcaster.Shutdown()
			recorder := broadcaster.NewRecorder(testenv.Scheme(), process)
			for range 2 {
				recorder.Eventf(b, nil, "Normal", "Again", "Test", "the same")
			}
			wait.Until(t, "the event says that it happened twice", func() bool {
				var list eventsv1.EventList
				if err := c.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
					t.Fatalf("list events: %v", err)
				}
				return len(list.Items) == 1 && list.Items[0].Series != nil && list.Items[0].Series.Count == 2
			})
		})
	}
}
