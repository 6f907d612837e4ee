// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestToolsThatWaitTakeNoFailedBridgeForOneThatIsStarting(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		s.DesiredState = v1alpha1.StateRunning
		s.Servers = []v1alpha1.Server{{Name: "docs", Transport: v1alpha1.Transport{URL: "https://docs.example.com/mcp"}}}
	})
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectExists(t, f.Client, b)
	health.Expect(t, b, health.InProgress)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	health.Expect(t, b, health.InProgress)
	f.roll(t, b)
	report := func(state string) {
		f.reportServers(t, b, v1alpha1.ServerState{Name: "docs", State: state, Since: &metav1.Time{Time: f.clock.Now()}})
		f.expect(t, b, v1alpha1.PhaseRunning, available)
	}
	report(v1alpha1.ServerHealthy)
	health.Expect(t, b, health.Current)
	report(v1alpha1.ServerUnhealthy)
	health.Expect(t, b, health.FailedServer)
	report(v1alpha1.ServerHealthy)

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "gold" })
	health.Expect(t, b, health.InProgress)
	f.expect(t, b, v1alpha1.PhaseFailed, map[string]string{v1alpha1.ConditionStalled: "True UnknownTier"})
	health.Expect(t, b, health.Failed)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "free" })
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	health.Expect(t, b, health.Current)

	rival := f.bridge("rival", func(s *v1alpha1.HostedBridgeSpec) { s.UserID = b.User() })
	testenv.ExpectApplied(t, f.Client, rival)
	f.expect(t, rival, v1alpha1.PhaseFailed, map[string]string{v1alpha1.ConditionStalled: "True UserIDConflict"})
	health.Expect(t, rival, health.Failed)
}
