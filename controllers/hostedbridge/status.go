// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	bridgeac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// applyStatus writes the operator's part of the status in one request, where it
// says something else than is known to be there. What the ingress and the keybroker
// write is not named and so not touched. Where it may be said later it returns how
// much later.
func (r *Reconciler) applyStatus(ctx context.Context, o plan.Observed, p plan.Plan, out plan.Outcome) (time.Duration, error) {
	now := r.Clock.Now()
	status := p.Status(o, out, now)
	if p.OwnsURL() {
		status.URL = r.Settings.BaseURL + "/u/" + string(status.UserID) + "/mcp"
	}
	b := o.Bridge
	said := withRan(b.Status.DeepCopy(), o)
	if sameStatus(said, &status) {
		return 0, nil
	}
	if wait := plan.Deferred(said, &status, now); wait > 0 {
		return wait, nil
	}
	// An object that has since taken the name gets this status for a moment:
	// status writes ignore the UID. Its own reconciliation comes next in the
	// queue, under the same name, and writes what is true.
	ac := bridgeac.HostedBridge(b.Name, b.Namespace).WithStatus(statusConfiguration(status))
	err := r.Client.Status().Apply(ctx, ac, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil // The bridge is gone; there is nobody to tell.
	}
	if err != nil {
		return 0, fmt.Errorf("apply status: %w", err)
	}
	r.recordChanges(b, status)
	return 0, nil
}

// withRan puts back into a status the recipes that are stored in it: observing
// has put what they come to now in their place.
func withRan(s *v1alpha1.HostedBridgeStatus, o plan.Observed) *v1alpha1.HostedBridgeStatus {
	s.Recipes = o.Recipes
	return s
}

// sameStatus reports whether the operator's part of two statuses is the same.
func sameStatus(a, b *v1alpha1.HostedBridgeStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration && a.Phase == b.Phase && a.UserID == b.UserID && a.URL == b.URL &&
		a.PodName == b.PodName && a.IdleSince.Equal(b.IdleSince) &&
		equality.Semantic.DeepEqual(a.Recipes, b.Recipes) && sameConditions(a.Conditions, b.Conditions)
}

// sameConditions compares conditions in any order. Times are stored in seconds.
func sameConditions(a, b []metav1.Condition) bool {
	if len(a) != len(b) {
		return false
	}
	for _, one := range a {
		other := meta.FindStatusCondition(b, one.Type)
		if other == nil || one.LastTransitionTime.Unix() != other.LastTransitionTime.Unix() {
			return false
		}
		one.LastTransitionTime = other.LastTransitionTime
		if one != *other {
			return false
		}
	}
	return true
}

// toldOtherwise passes a HostedBridge whose status says something else in the
// operator's part. A status that was not written, because the cache had it, may
// have been another one by then: its event comes by here.
func toldOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !sameStatus(&before.Status, &after.Status)
	}}
}

func statusConfiguration(s v1alpha1.HostedBridgeStatus) *bridgeac.HostedBridgeStatusApplyConfiguration {
	ac := bridgeac.HostedBridgeStatus().
		WithObservedGeneration(s.ObservedGeneration).
		WithPhase(s.Phase).
		WithUserID(s.UserID)
	if s.URL != "" {
		ac.WithURL(s.URL)
	}
	if s.PodName != "" {
		ac.WithPodName(s.PodName)
	}
	if s.IdleSince != nil {
		ac.WithIdleSince(*s.IdleSince)
	}
	for _, recipe := range s.Recipes {
		ac.WithRecipes(recipeConfiguration(recipe))
	}
	for _, c := range s.Conditions {
		ac.WithConditions(metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithReason(c.Reason).
			WithMessage(c.Message).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime))
	}
	return ac
}

// recordChanges emits an event for what somebody has to act on, and when that is
// over. What happens in the ordinary course is in the conditions, and an event of
// each of its steps would be as many writes as the objects of a bridge take. The
// status before is the cache's: where that is late the event is emitted again, and
// the recorder counts it with the first.
func (r *Reconciler) recordChanges(b *v1alpha1.HostedBridge, after v1alpha1.HostedBridgeStatus) {
	before := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
	accepted := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionAccepted)
	same := before != nil && before.Status == accepted.Status && before.Reason == accepted.Reason
	if !same && (wrong(before) || wrong(accepted)) {
		r.Recorder.Eventf(b, nil, severity(wrong(accepted)), accepted.Reason, "Accept", "%s", plan.Note(accepted.Message))
	}
	failed := after.Phase == v1alpha1.PhaseFailed
	if failed != (b.Status.Phase == v1alpha1.PhaseFailed) {
		ready := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
		r.Recorder.Eventf(b, nil, severity(failed), string(after.Phase), "Reconcile", "%s", plan.Note(ready.Message))
	}
}

// wrong says that there is something in a spec for its author to mend.
func wrong(accepted *metav1.Condition) bool {
	return accepted != nil && (accepted.Status != metav1.ConditionTrue || accepted.Reason == v1alpha1.ReasonRecipesUnusable)
}

func severity(wrong bool) string {
	if wrong {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
