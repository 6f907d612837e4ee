// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAKeyThatIsSharedIsSaidAtBothBridges has mallory copy what alice's bridge
// lists, before and after alice has a key whose hash is bound to her. Each change
// of one bridge is told at the other, which nobody changes.
func TestAKeyThatIsSharedIsSaidAtBothBridges(t *testing.T) {
	f := newFixture(t)
	id := strings.ToUpper(strings.ReplaceAll(f.namespace, "-", ""))
	old := v1alpha1.APIKey{ID: id[:min(len(id), 32)], Hash: "sha256:" + strings.Repeat("0a", 32)}
	bound := v1alpha1.APIKey{ID: "0" + old.ID[1:], Hash: "user-sha256:" + strings.Repeat("0b", 32)}
	alice := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = []v1alpha1.APIKey{old} })
	f.elsewhere = testenv.Namespace(t, f.Client)
	mallory := f.bridge("mallory")
	mallory.Namespace = f.elsewhere
	testenv.ExpectApplied(t, f.Client, mallory)
	testenv.ExpectApplied(t, f.Client, alice)
	f.start(t)
	expect := func(b *v1alpha1.HostedBridge, reason string, named ...string) {
		t.Helper()
		var c *metav1.Condition
		wait.Until(t, b.Name+" is "+reason, func() bool {
			testenv.ExpectExists(t, f.Client, b)
			c = meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
			return c != nil && c.ObservedGeneration == b.Generation && c.Status == metav1.ConditionTrue && c.Reason == reason
		})
		for _, want := range named {
			if !strings.Contains(c.Message, want) {
				t.Errorf("%s: %q does not name %q", b.Name, c.Message, want)
			}
		}
	}
	expect(alice, v1alpha1.ReasonAccepted)
	f.change(t, mallory, func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = []v1alpha1.APIKey{old} })
	command := func(b *v1alpha1.HostedBridge) string {
		return "kubectl bridge key create " + b.Name + " --namespace=" + b.Namespace
	}
	expect(alice, v1alpha1.ReasonKeysShared, old.ID, mallory.Namespace+"/mallory", command(alice))
	expect(mallory, v1alpha1.ReasonKeysShared, old.ID, alice.Namespace+"/alice", command(mallory))

	// The copy goes and comes with the bridge that has it.
	must.Succeed(t, f.Delete(t.Context(), mallory))
	expect(alice, v1alpha1.ReasonAccepted)
	mallory = f.bridge("mallory", func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = []v1alpha1.APIKey{old} })
	mallory.Namespace = f.elsewhere
	testenv.ExpectApplied(t, f.Client, mallory)
	expect(alice, v1alpha1.ReasonKeysShared, mallory.Namespace+"/mallory")

	// alice takes a new key, which mallory copies too.
	f.change(t, alice, func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = []v1alpha1.APIKey{bound} })
	f.change(t, mallory, func(s *v1alpha1.HostedBridgeSpec) { s.APIKeys = append(s.APIKeys, bound) })
	expect(alice, v1alpha1.ReasonAccepted)
	expect(mallory, v1alpha1.ReasonAccepted)
}
