// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestOnlyTheProgressOfAStartMayBeToldLater(t *testing.T) {
	set := func(kind string, change func(*metav1.Condition)) func(*v1alpha1.HostedBridgeStatus) {
		return func(s *v1alpha1.HostedBridgeStatus) { change(meta.FindStatusCondition(s.Conditions, kind)) }
	}
	reason := func(reason string) func(*metav1.Condition) {
		return func(c *metav1.Condition) { c.Reason = reason }
	}
	for name, tt := range map[string]struct {
		after  time.Duration
		change func(*v1alpha1.HostedBridgeStatus)
		want   time.Duration
	}{
		"a pod that is there":               {time.Second, func(s *v1alpha1.HostedBridgeStatus) { s.PodName = "a" }, 4 * time.Second},
		"a pod by a clock that is ahead":    {-time.Hour, func(s *v1alpha1.HostedBridgeStatus) { s.PodName = "a" }, 5 * time.Second},
		"a pod that is there after a while": {5 * time.Second, func(s *v1alpha1.HostedBridgeStatus) { s.PodName = "a" }, 0},
		"what the pod waits for":            {0, set(v1alpha1.ConditionReady, func(c *metav1.Condition) { c.Message = "other" }), 5 * time.Second},
		"secrets that are sealed":           {0, set(v1alpha1.ConditionSecretsSealed, reason(v1alpha1.ReasonSealed)), 5 * time.Second},
		"secrets that are missing":          {0, set(v1alpha1.ConditionSecretsSealed, func(c *metav1.Condition) { c.Status, c.Reason = metav1.ConditionFalse, "SecretsMissing" }), 0},
		"that it is ready":                  {0, set(v1alpha1.ConditionReady, reason(v1alpha1.ReasonReady)), 0},
		"that no keybroker is there":        {0, set(v1alpha1.ConditionReady, reason(v1alpha1.ReasonKeybrokerUnavailable)), 0},
		"that the spec is warned of":        {0, set(v1alpha1.ConditionAccepted, func(c *metav1.Condition) { c.Message = "other" }), 0},
		"that nothing isolates it any more": {0, set(v1alpha1.ConditionNetworkIsolated, reason("other")), 0},
		"a condition that was not there":    {0, func(s *v1alpha1.HostedBridgeStatus) { s.Conditions = s.Conditions[:1] }, 0},
		"another spec":                      {0, func(s *v1alpha1.HostedBridgeStatus) { s.ObservedGeneration++ }, 0},
		"another phase":                     {0, func(s *v1alpha1.HostedBridgeStatus) { s.Phase = v1alpha1.PhaseRunning }, 0},
		"that it sleeps":                    {0, func(s *v1alpha1.HostedBridgeStatus) { s.IdleSince = new(metav1.NewTime(now)) }, 0},
		"what its recipes come to":          {0, func(s *v1alpha1.HostedBridgeStatus) { s.Recipes = []v1alpha1.RecipeStatus{{Server: "a"}} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed()
			before := Decide(o, now).Status(o, workload(func(w *Workload) { *w = Workload{Generation: 1} }), now)
			after := *before.DeepCopy()
			tt.change(&after)
			if got := Deferred(&before, &after, now.Add(tt.after)); got != tt.want {
				t.Errorf("it may wait %s, want %s", got, tt.want)
			}
		})
	}
}
