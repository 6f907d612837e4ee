// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestWhatChangesIsSaidInAFewWords(t *testing.T) {
	before := bridge(func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateOnDemand }, "kept", "gone", "other")
	after := before.DeepCopy()
	if changes := Changes(before, after); changes != nil {
		t.Errorf("nothing changed, and it says %q", changes)
	}
	s := &after.Spec
	s.Tier, s.Mode, s.RuntimeClassName, s.IdleTimeout = "pro", v1alpha1.ModeRouter, new("gvisor"), &metav1.Duration{Duration: time.Hour}
	s.Servers = []v1alpha1.Server{before.Spec.Servers[0], at("other", "https://elsewhere.example.com"), at("new", "https://new.example.com")}
	want := []string{
		"tier: free -> pro", "mode: Direct -> Router", "idleTimeout: 15m0s -> 1h0m0s", "runtimeClassName: none -> gvisor",
		"- server gone", "~ server other", "+ server new",
	}
	if diff := cmp.Diff(want, Changes(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
