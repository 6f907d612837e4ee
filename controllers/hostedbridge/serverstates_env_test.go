// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// reportServers writes the states of servers as the ingress does.
func (f *fixture) reportServers(t *testing.T, b *v1alpha1.HostedBridge, states ...v1alpha1.ServerState) {
	t.Helper()
	testenv.ExpectExists(t, f.Client, b)
	before := b.DeepCopy()
	b.Status.ServerStates = states
	must.Succeed(t, f.Status().Patch(t.Context(), b, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwnerIngress)))
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
}

func TestAServerThatCannotBeUsedIsInAConditionAndInOneEvent(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = []v1alpha1.Server{
			{Name: "guarded", Transport: v1alpha1.Transport{URL: "https://guarded.example.com/mcp"}},
			{Name: "open", Transport: v1alpha1.Transport{URL: "https://open.example.com/mcp"}},
		}
	})
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	expect := func(status metav1.ConditionStatus, says string) {
		t.Helper()
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionServersHealthy); c == nil || c.Status != status {
			t.Fatalf("the condition is %+v, want %s", c, status)
		}
		expectMessage(t, b, v1alpha1.ConditionServersHealthy, says)
		if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
			t.Error("the bridge is not ready for its others")
		}
	}
	expect(metav1.ConditionUnknown, "guarded, open")
	f.expectEvents(t)

	open := v1alpha1.ServerState{Name: "open", State: v1alpha1.ServerHealthy, Tools: 3}
	down := v1alpha1.ServerState{Name: "guarded", State: v1alpha1.ServerUnhealthy, Reason: "CredentialsRefused", Message: "the server refuses GUARDED_TOKEN"}
	f.reportServers(t, b, down, open)
	expect(metav1.ConditionFalse, "1 of 2 servers cannot be used; server guarded: the server refuses GUARDED_TOKEN")
	f.expectEvents(t, "Warning ServersUnhealthy")
	version := b.ResourceVersion

	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if b.ResourceVersion != version || len(b.Status.ServerStates) != 2 {
		t.Errorf("the operator wrote again, or removed states: %+v", b.Status.ServerStates)
	}
	open.Tools = 4
	f.reportServers(t, b, down, open)
	f.expectEvents(t)

	down = v1alpha1.ServerState{Name: "guarded", State: v1alpha1.ServerHealthy, Tools: 1}
	f.reportServers(t, b, down, open)
	expect(metav1.ConditionTrue, "all servers can be used")
	f.expectEvents(t, "Normal ServersHealthy")
}
