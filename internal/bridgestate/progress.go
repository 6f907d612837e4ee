// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// progressDelay is how long after its beginning the progress of a start is not
// reported. Most starts are over by then, and each step would be a write that
// all watches receive.
const progressDelay = 5 * time.Second

// Deferred returns how long a status may wait that only reports the progress of
// a start; zero means that it may not.
func Deferred(before, after *v1alpha1.HostedBridgeStatus, now time.Time) time.Duration {
	if !sameButProgress(before, after) {
		return 0
	}
	was, is := readiness(before), readiness(after)
	if was == nil || is == nil || was.Reason != v1alpha1.ReasonProgressing || is.Reason != v1alpha1.ReasonProgressing {
		return 0
	}
	// A time of another operator may lie ahead.
	return min(progressDelay, max(0, was.LastTransitionTime.Add(progressDelay).Sub(now)))
}

func readiness(s *v1alpha1.HostedBridgeStatus) *metav1.Condition {
	return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
}

// sameButProgress reports whether two statuses differ only in fields that a
// start changes on its way: the pod's name, what it waits for, and that its
// secrets are sealed.
func sameButProgress(before, after *v1alpha1.HostedBridgeStatus) bool {
	if before.Phase != after.Phase || before.ObservedGeneration != after.ObservedGeneration || before.UserID != after.UserID ||
		!before.IdleSince.Equal(after.IdleSince) || !SameConfiguration(before, after) || before.Tier != after.Tier ||
		!SamePeople(before, after) || !SameTerminations(before, after) {
		return false
	}
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionSecretsSealed, v1alpha1.ConditionNetworkIsolated, v1alpha1.ConditionProfilesApplied} {
		if !sameOrSealed(meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)) {
			return false
		}
	}
	return true
}

// SameConfiguration reports whether two statuses say the same about what the bridge runs by.
func SameConfiguration(before, after *v1alpha1.HostedBridgeStatus) bool {
	return before.Configuration == after.Configuration && ptr.Equal(before.DefaultToolNameLength, after.DefaultToolNameLength) &&
		ptr.Equal(before.UnprefixedServer, after.UnprefixedServer) &&
		equality.Semantic.DeepEqual(before.Recipes, after.Recipes)
}

// SameTerminations reports whether two statuses say the same about the ends of
// the bridge's process.
func SameTerminations(a, b *v1alpha1.HostedBridgeStatus) bool {
	return equality.Semantic.DeepEqual(a.Terminations, b.Terminations) && equality.Semantic.DeepEqual(a.Outages, b.Outages)
}

func sameOrSealed(was, is *metav1.Condition) bool {
	if was == nil || is == nil {
		return was == is // Not every condition is always there.
	}
	if is.Type == v1alpha1.ConditionSecretsSealed && is.Status == metav1.ConditionTrue {
		return true
	}
	return was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message
}
