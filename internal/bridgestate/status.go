// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Status returns the part of the bridge's status that the operator writes,
// url excepted. What the ingress and the
// keybroker write is not set.
func (p Plan) Status(o Observed, out Outcome, now time.Time) v1alpha1.HostedBridgeStatus {
	s := v1alpha1.HostedBridgeStatus{
		ObservedGeneration: p.generation(o),
		Conditions:         conditions(o, p, out, now),
		UserID:             o.Bridge.User(),
		Tier:               o.Bridge.Spec.Tier,
		Recipes:            p.recipes(o),
		Terminations:       o.Bridge.Status.Terminations,
		Outages:            p.outages(o),
		Configuration:      cmp.Or(out.Configuration, o.Bridge.Status.Configuration),
	}
	s.DefaultToolNameLength, s.UnprefixedServer = defaultToolNameLength(o.Bridge), Unprefixed(o.Bridge)
	s.Profiles, s.Effective = p.profiles(o)
	s.Access = o.Bridge.Status.Access
	if pod := o.current(); pod != nil {
		s.PodName = pod.Name
	}
	s.IdleSince = p.IdleSince
	s.Phase = phase(o, s, p, out)
	return s
}

// generation returns the generation of the spec that was applied. While the
// workload is held, or waits for its turn, it is the one before, so that a
// client that waits for a change does not mistake it for done. The default of the API, which
// is negative, is no generation that a condition may have.
func (p Plan) generation(o Observed) int64 {
	if p.Action == Hold || p.Queued {
		return max(0, o.Bridge.Status.ObservedGeneration)
	}
	return o.Bridge.Generation
}

// recipes returns the recipes that the pod runs by. A pod that keeps its
// configuration also needs its earlier grants, such as to store a login that it
// refreshes.
func (p Plan) recipes(o Observed) []v1alpha1.RecipeStatus {
	if p.keepsConfiguration(o) {
		return o.Before.Recipes
	}
	return o.Bridge.Status.Recipes
}

// profiles returns the profiles that the pod runs by, as recipes does.
func (p Plan) profiles(o Observed) ([]v1alpha1.ProfileUse, *v1alpha1.EffectiveSettings) {
	if p.keepsConfiguration(o) {
		return o.Before.Profiles, o.Before.Effective
	}
	return o.Bridge.Status.Profiles, o.Bridge.Status.Effective
}

// keepsConfiguration reports whether a running pod keeps the configuration that it has.
func (p Plan) keepsConfiguration(o Observed) bool {
	return (p.Action == Hold || p.Action == Leave) && o.running()
}

// SamePeople reports whether two statuses say the same of profiles and of the access of
// people.
func SamePeople(a, b *v1alpha1.HostedBridgeStatus) bool {
	return equality.Semantic.DeepEqual(a.Access, b.Access) && equality.Semantic.DeepEqual(a.Effective, b.Effective) &&
		slices.EqualFunc(a.Profiles, b.Profiles, func(x, y v1alpha1.ProfileUse) bool {
			same := x.Since.Unix() == y.Since.Unix()
			x.Since = y.Since
			return same && x == y
		})
}

// OwnsURL reports whether the user's URL leads to this bridge. It does not if
// the user id belongs to another bridge.
func (p Plan) OwnsURL() bool { return p.Rejected.Reason != v1alpha1.ReasonUserIDConflict }

func phase(o Observed, s v1alpha1.HostedBridgeStatus, p Plan, out Outcome) v1alpha1.Phase {
	workload := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionWorkloadAvailable)
	switch {
	case p.failed(out):
		return v1alpha1.PhaseFailed
	case p.Queued:
		return v1alpha1.PhaseWaking
	case workload.Reason == v1alpha1.ReasonAsleep:
		return v1alpha1.PhaseAsleep
	case workload.Reason == v1alpha1.ReasonSuspended && s.Access != nil && s.Access.State == v1alpha1.AccessOffboarded:
		return v1alpha1.PhaseOffboarded
	case workload.Reason == v1alpha1.ReasonSuspended:
		return v1alpha1.PhaseSuspended
	case workload.Reason == v1alpha1.ReasonAvailable:
		return v1alpha1.PhaseRunning
	case p.Action == Run && o.wakes():
		return v1alpha1.PhaseWaking
	default:
		return v1alpha1.PhasePending
	}
}

// wakes reports whether a bridge that is not ready slept before.
func (o Observed) wakes() bool {
	return o.Bridge.Asleep() || o.Bridge.Spec.DesiredState == v1alpha1.StateOnDemand && o.Bridge.Status.Phase == v1alpha1.PhaseWaking
}

// failed reports whether the bridge stays as it is until a person changes something.
func (p Plan) failed(out Outcome) bool {
	reason := out.Failed.Reason
	return p.Rejected != (Finding{}) || reason == v1alpha1.ReasonNotOwned || reason == v1alpha1.ReasonApplyFailed
}
