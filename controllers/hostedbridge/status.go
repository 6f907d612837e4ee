// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// applyStatus writes the operator's part of the status in one request, if it
// differs from the cached one. It leaves out what the ingress and the keybroker
// write, and so does not change it. If the write may wait, applyStatus returns
// for how long.
func (r *Reconciler) applyStatus(
	ctx context.Context, o bridgestate.Observed, p bridgestate.Plan, out bridgestate.Outcome,
) (time.Duration, error) {
	now := r.Clock.Now()
	status := p.Status(o, out, now)
	if p.OwnsURL() {
		status.URL = r.Settings.BaseURL + "/u/" + string(status.UserID) + "/mcp"
	}
	b := o.Bridge.HostedBridge
	if sameStatus(&o.Before, &status) {
		return 0, nil
	}
	if wait := bridgestate.Deferred(&o.Before, &status, now); wait > 0 {
		return wait, nil
	}
	// A new object of the same name gets this status for a moment: status
	// writes ignore the UID. Its own reconciliation is next in the queue, under
	// the same name, and writes the right status.
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	patch := apply.Status(ownStatus{HostedBridgeStatus: status, ObservedGeneration: status.ObservedGeneration})
	err := r.Client.Status().Patch(ctx, object, patch, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if err == nil {
		err = r.takeBack(ctx, b, object.Status, status)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil // The bridge was deleted: no status is needed.
	}
	if err != nil {
		return 0, fmt.Errorf("apply status: %w", err)
	}
	r.recordChanges(b, status)
	return 0, nil
}

// takeBack removes the fields that the API server's answer has and the status has not. An
// apply leaves what another writer holds too, such as somebody's patch: a bridge whose
// idleSince is left has a ready pod, and the ingress waits for it to wake. An idleSince that
// was written since b was read is for the next reconciliation.
func (r *Reconciler) takeBack(ctx context.Context, b *v1alpha1.HostedBridge, answer, s v1alpha1.HostedBridgeStatus) error {
	fields := map[string]any{}
	remove := func(name string, answered, own bool) {
		if answered && !own {
			fields[name] = nil
		}
	}
	remove("url", answer.URL != "", s.URL != "")
	remove("podName", answer.PodName != "", s.PodName != "")
	remove("configuration", answer.Configuration != "", s.Configuration != "")
	remove("idleSince", answer.IdleSince != nil, s.IdleSince != nil || b.Status.IdleSince == nil)
	remove("tier", answer.Tier != "", s.Tier != "")
	remove("profiles", len(answer.Profiles) > 0, len(s.Profiles) > 0)
	remove("effective", answer.Effective != nil, s.Effective != nil)
	remove("access", answer.Access != nil, s.Access != nil)
	remove("recipes", len(answer.Recipes) > 0, len(s.Recipes) > 0)
	remove("terminations", len(answer.Terminations) > 0, len(s.Terminations) > 0)
	remove("outages", len(answer.Outages) > 0, len(s.Outages) > 0)
	remove("unprefixedServer", answer.UnprefixedServer != nil, s.UnprefixedServer != nil)
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	return apply.RemoveStatus(ctx, r.Client, object, v1alpha1.FieldOwnerOperator, fields)
}

// sameStatus reports whether the operator's part of two statuses is the same.
func sameStatus(a, b *v1alpha1.HostedBridgeStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration && a.Phase == b.Phase && a.UserID == b.UserID && a.URL == b.URL &&
		a.PodName == b.PodName && a.IdleSince.Equal(b.IdleSince) && a.Tier == b.Tier && bridgestate.SamePeople(a, b) &&
		bridgestate.SameConfiguration(a, b) && bridgestate.SameTerminations(a, b) && sameConditions(a.Conditions, b.Conditions)
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

// toldOtherwise passes a HostedBridge if the operator's part of its status
// changed. A status that was not written, because the cache had it already, may
// have changed in the meantime: this predicate then passes the event.
func toldOtherwise() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !sameStatus(&before.Status, &after.Status)
	}}
}

// ownStatus is the operator's part of a status. A generation of 0 is written too: without one
// the API server sets the default, which is -1.
type ownStatus struct {
	v1alpha1.HostedBridgeStatus

	ObservedGeneration int64 `json:"observedGeneration"`
}

// recordChanges emits an event when a user or administrator has to act, and
// when the problem is over. Normal progress is in the conditions only: an event
// for each step would double the writes for a bridge. The status before is the
// cache's: if the cache is late, the event is emitted again, and the recorder
// counts it with the first.
func (r *Reconciler) recordChanges(b *v1alpha1.HostedBridge, after v1alpha1.HostedBridgeStatus) {
	before := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
	accepted := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionAccepted)
	same := before != nil && before.Status == accepted.Status && before.Reason == accepted.Reason
	if !same && (wrong(before) || wrong(accepted)) {
		r.Recorder.Eventf(b, nil, severity(wrong(accepted)), accepted.Reason, "Accept", "%s", bridgestate.Note(accepted.Message))
	}
	r.recordStability(b, after)
	r.recordServers(b, after)
	recordReason(r.Recorder, b, after, v1alpha1.ConditionWorkloadAvailable, v1alpha1.PodBlocked)
	recordReason(r.Recorder, b, after, v1alpha1.ConditionProfilesApplied, func(reason string) bool { return reason == v1alpha1.ReasonUnknownGroup })
	failed := after.Phase == v1alpha1.PhaseFailed
	if failed != (b.Status.Phase == v1alpha1.PhaseFailed) {
		ready := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
		r.Recorder.Eventf(b, nil, severity(failed), string(after.Phase), "Reconcile", "%s", bridgestate.Note(ready.Message))
	}
}

// recordServers emits an event when servers fail, or others than before, and when
// all can be used again. Servers that the operator leaves out are in the events of
// other conditions.
func (r *Reconciler) recordServers(b *v1alpha1.HostedBridge, after v1alpha1.HostedBridgeStatus) {
	before := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionServersHealthy)
	now := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionServersHealthy)
	switch {
	case now.Reason == v1alpha1.ReasonServersUnhealthy && (before == nil || before.Reason != now.Reason || before.Message != now.Message):
		r.Recorder.Eventf(b, nil, corev1.EventTypeWarning, now.Reason, "Observe", "%s", bridgestate.Note(now.Message))
	case now.Status == metav1.ConditionTrue && before != nil && before.Reason == v1alpha1.ReasonServersUnhealthy:
		r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, now.Reason, "Observe", "%s", bridgestate.Note(now.Message))
	}
}

// recordReason emits an event when a condition gets a reason for which somebody has to act, and when
// it has none of them any more.
func recordReason(recorder events.EventRecorder, b *v1alpha1.HostedBridge, after v1alpha1.HostedBridgeStatus, kind string, acts func(reason string) bool) {
	before, now := meta.FindStatusCondition(b.Status.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
	had, has := before != nil && acts(before.Reason), now != nil && acts(now.Reason)
	switch {
	case has && (!had || before.Reason != now.Reason || before.Message != now.Message):
		recorder.Eventf(b, nil, corev1.EventTypeWarning, now.Reason, "Observe", "%s", bridgestate.Note(now.Message))
	case had && !has && now != nil && now.Status == metav1.ConditionTrue:
		recorder.Eventf(b, nil, corev1.EventTypeNormal, now.Reason, "Observe", "%s", bridgestate.Note(now.Message))
	}
}

// recordStability emits an event when the bridge's process ends again and again,
// when servers go out of service because of that, and when it is over.
func (r *Reconciler) recordStability(b *v1alpha1.HostedBridge, after v1alpha1.HostedBridgeStatus) {
	before := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable)
	stable := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionStable)
	switch {
	case stable != nil && (before == nil || before.Reason != stable.Reason ||
		before.Message != stable.Message && stable.Reason == v1alpha1.ReasonServersOutOfService):
		r.Recorder.Eventf(b, nil, corev1.EventTypeWarning, stable.Reason, "Run", "%s", bridgestate.Note(stable.Message))
	case stable == nil && before != nil:
		r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, v1alpha1.ConditionStable, "Run", "%s",
			"the bridge's process has not ended repeatedly within the last hour")
	}
}

// wrong reports whether the author of a spec has something to correct in it.
func wrong(accepted *metav1.Condition) bool {
	return accepted != nil && (accepted.Status != metav1.ConditionTrue || accepted.Reason != v1alpha1.ReasonAccepted)
}

func severity(wrong bool) string {
	if wrong {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
