// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogrecipe checks the catalog's recipes, however they were
// written, and keeps the versions that were accepted. It is a shell around
// catalog.Accept, which is pure.
package catalogrecipe

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
)

// conflictRetry is longer than caches lag behind.
const conflictRetry = 200 * time.Millisecond

// Reconciler reconciles one CatalogRecipe at a time.
type Reconciler struct {
	// Client reads from caches that have the index of Setup, and writes.
	Client client.Client
	Clock  clock.PassiveClock
	// Hosting is what the installation can run; nil leaves the condition Hostable
	// as it is.
	Hosting *resolve.Hosting
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, o *v1alpha1.CatalogRecipe) (ctrl.Result, error) {
	if o.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	keys, err := r.publicKeys(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := r.status(o, validate.Accept(o, keys, r.Clock.Now()))
	if equality.Semantic.DeepEqual(o.Status, status) {
		return ctrl.Result{}, nil
	}
	err = r.applyStatus(ctx, o, status)
	if apierrors.IsConflict(err) {
		// The cache is late, or a field changed that is not checked and that
		// the predicates do not pass.
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	return ctrl.Result{}, err
}

// publicKeys returns the keys of the publishers that the signatures name, as
// they are written. A publisher that does not exist has none.
func (r *Reconciler) publicKeys(ctx context.Context, o *v1alpha1.CatalogRecipe) (map[string][]string, error) {
	keys := make(map[string][]string)
	for _, signer := range validate.Signers(o) {
		p := &v1alpha1.CatalogPublisher{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: signer}, p)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get CatalogPublisher: %w", err)
		}
		keys[signer] = p.Spec.PublicKeys
	}
	return keys, nil
}

// status returns the object's status after a verdict.
func (r *Reconciler) status(o *v1alpha1.CatalogRecipe, v validate.Verdict) v1alpha1.CatalogRecipeStatus {
	s := *o.Status.DeepCopy()
	s.ObservedGeneration, s.Versions = o.Generation, v.Versions
	unready := v1alpha1.ConditionStalled
	condition := metav1.Condition{
		Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionFalse,
		Reason: v.Reason, Message: v.Message, ObservedGeneration: o.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if v.Accepted {
		condition.Status, unready = metav1.ConditionTrue, ""
	}
	meta.SetStatusCondition(&s.Conditions, condition)
	v1alpha1.NoteKstatus(&s.Conditions, unready, &condition)
	r.noteHosting(&s, o)
	catalog.NoteDeprecation(&s.Conditions, o, r.Clock.Now())
	return s
}

// noteHosting says whether bridges can run the version that is served.
func (r *Reconciler) noteHosting(s *v1alpha1.CatalogRecipeStatus, o *v1alpha1.CatalogRecipe) {
	if r.Hosting == nil {
		return
	}
	if len(s.Versions) == 0 {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionRecipeHostable)
		return
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionRecipeHostable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRecipeHostable,
		Message: "bridges of this installation can run version " + s.Versions[0].Version, ObservedGeneration: o.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if found := r.Hosting.Judge(o.Name, s.Versions[0]); found.Reason != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, found.Reason, found.Message
	}
	meta.SetStatusCondition(&s.Conditions, condition)
}

func (r *Reconciler) applyStatus(ctx context.Context, o *v1alpha1.CatalogRecipe, s v1alpha1.CatalogRecipeStatus) error {
	// With the version that was read, the API server refuses a verdict on an
	// object that has since changed.
	object := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, ResourceVersion: o.ResourceVersion}}
	err := r.Client.Status().Patch(ctx, object, apply.Status(s), client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	return nil
}
