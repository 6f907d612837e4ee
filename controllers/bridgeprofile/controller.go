// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeprofile checks BridgeProfiles, keeps the revisions that were accepted, and
// follows how a change of one reaches the bridges. Each bridge takes its profiles from
// these revisions in package hostedbridge.
package bridgeprofile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// conflictRetry is longer than caches lag behind.
	conflictRetry = 200 * time.Millisecond
	// settle is how long changes of bridges are collected before a profile's status
	// counts them, so that a rollout to 10,000 bridges is not 10,000 writes of it.
	settle = 2 * time.Second
	// watched is for how long a bridge with a new revision is watched for a failure.
	watched = time.Minute
)

// Reconciler reconciles one BridgeProfile at a time.
type Reconciler struct {
	// Client reads from caches, and writes.
	Client client.Client
	Clock  clock.PassiveClock
	// Namespace is the installation's, in which BridgeProfiles have an effect, and
	// CatalogNamespace that of the recipes.
	Namespace, CatalogNamespace string
	// Tiers are the installation's tiers.
	Tiers quota.Tiers
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, p *v1alpha1.BridgeProfile) (ctrl.Result, error) {
	if p.DeletionTimestamp != nil || p.Namespace != r.Namespace {
		return ctrl.Result{}, nil
	}
	now := r.Clock.Now()
	verdict, err := r.check(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	after, err := r.status(ctx, p, verdict, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	var again time.Duration
	if len(after.Revisions) == 2 && !after.Paused {
		again = settle // Failures show without an event of the profile.
	}
	if equality.Semantic.DeepEqual(p.Status, after) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	err = r.applyStatus(ctx, p, after)
	if apierrors.IsConflict(err) {
		again, err = conflictRetry, nil // The cache is late.
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// status returns the profile's status after a check.
func (r *Reconciler) status(ctx context.Context, p *v1alpha1.BridgeProfile, refused verdict, now time.Time) (v1alpha1.BridgeProfileStatus, error) {
	s := *p.Status.DeepCopy()
	s.ObservedGeneration = p.Generation
	if refused.Reason == "" && (len(s.Revisions) == 0 || s.Revisions[0].Generation != p.Generation) {
		revisions, err := profile.Accept(p)
		if err != nil {
			return s, fmt.Errorf("keep the accepted spec: %w", err)
		}
		s.Revisions, s.Paused = revisions, false
	}
	var bridges v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &bridges, client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("list HostedBridges: %w", err)
	}
	var persons v1alpha1.BridgePersonList
	if err := r.Client.List(ctx, &persons, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("list BridgePersons: %w", err)
	}
	c, err := count(p, s.Revisions, bridges.Items, access.NewPeople(persons.Items), now)
	if err != nil {
		return s, err
	}
	s.Matched, s.Updated = int32(c.matched), int32(c.updated) //nolint:gosec // A cluster has fewer bridges.
	if len(s.Revisions) == 2 {
		s.Paused = s.Paused || c.tooManyFailed()
		if c.waiting == 0 {
			s.Revisions, s.Paused = s.Revisions[:1], false
		}
	}
	setConditions(&s, p.Generation, refused, c, now)
	return s, nil
}

// began returns when the rollout in progress began.
func began(p *v1alpha1.BridgeProfile, now time.Time) time.Time {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProgressing)
	if c == nil || c.Status != metav1.ConditionTrue {
		return now.Truncate(time.Second)
	}
	return c.LastTransitionTime.Time
}

func setConditions(s *v1alpha1.BridgeProfileStatus, generation int64, refused verdict, c counted, now time.Time) {
	set := func(kind string, status bool, reason, message string) {
		value := metav1.ConditionFalse
		if status {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
	if refused.Reason != "" {
		message := refused.Message
		if len(s.Revisions) > 0 {
			message += fmt.Sprintf("; the %d bridges that it selects keep the last accepted revision, of generation %d", s.Matched, s.Revisions[0].Generation)
		}
		set(v1alpha1.ConditionAccepted, false, refused.Reason, message)
	} else {
		set(v1alpha1.ConditionAccepted, true, v1alpha1.ReasonAccepted, "the installation takes the profile")
	}
	if conflict, found := c.conflict(); found {
		set(v1alpha1.ConditionConflicting, true, v1alpha1.ReasonEqualPriority, conflict)
	} else {
		set(v1alpha1.ConditionConflicting, false, v1alpha1.ReasonNoConflict, "no other profile of the same priority disagrees about a bridge")
	}
	reason, message := progress(s, c)
	set(v1alpha1.ConditionProgressing, reason == v1alpha1.ReasonRollingOut, reason, message)
	if refused.Reason != "" {
		set(v1alpha1.ConditionReady, false, refused.Reason, "the spec is not accepted")
		v1alpha1.NoteKstatus(&s.Conditions, v1alpha1.ConditionStalled, meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionAccepted))
		return
	}
	set(v1alpha1.ConditionReady, reason == v1alpha1.ReasonRolloutComplete, reason, message)
	unready := ""
	switch reason {
	case v1alpha1.ReasonRolloutPaused:
		unready = v1alpha1.ConditionStalled
	case v1alpha1.ReasonRollingOut:
		unready = v1alpha1.ConditionReconciling
	}
	v1alpha1.NoteKstatus(&s.Conditions, unready, meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady))
}

// progress says how far the last accepted revision is.
func progress(s *v1alpha1.BridgeProfileStatus, c counted) (reason, message string) {
	switch {
	case s.Paused:
		return v1alpha1.ReasonRolloutPaused, fmt.Sprintf("%d of %d bridges have the last revision; the others keep the one before, since these failed within a minute after they got it: %s; a change of the spec ends the pause",
			s.Updated, s.Matched, c.failedNames())
	case len(s.Revisions) == 2:
		return v1alpha1.ReasonRollingOut, fmt.Sprintf("%d of %d bridges have the last revision", s.Updated, s.Matched)
	default:
		return v1alpha1.ReasonRolloutComplete, "all bridges that the profile selects have it"
	}
}

func (r *Reconciler) applyStatus(ctx context.Context, p *v1alpha1.BridgeProfile, s v1alpha1.BridgeProfileStatus) error {
	// With the version that was read, the API server refuses a verdict on a spec that
	// has since changed.
	object := &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion}}
	err := r.Client.Status().Patch(ctx, object, apply.Status(s), client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	return nil
}

// failedShown is how many bridges a message names.
const failedShown = 5

func (c counted) failedNames() string {
	slices.Sort(c.failed)
	return enumerated(c.failed, failedShown)
}
