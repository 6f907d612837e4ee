// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programbundle has each ProgramBundle installed by a Job in the installation's
// namespace, and says in its status what came of it. It deletes those that no HostedBridge
// has used for a time.
package programbundle

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// Settings are what an installation decides for all of its bundles.
type Settings struct {
	bridgeobjects.Installing
	// Namespace is the installation's, in which ProgramBundles have an effect.
	Namespace string
	// MaxJobs is how many packages are installed at the same time.
	MaxJobs int
	// Retention is how long a bundle is kept that no HostedBridge uses.
	Retention time.Duration
}

// Reconciler reconciles one ProgramBundle at a time.
type Reconciler struct {
	// Client reads from caches, and writes.
	Client client.Client
	// Live reads the pods of Jobs, which no cache holds.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Settings Settings
	// UsersOf returns the HostedBridges that have a server of the package.
	UsersOf func(context.Context, v1alpha1.ProgramBundleSpec) ([]v1alpha1.HostedBridge, error)
}

// Reconcile brings a bundle's Job and its status up to date.
func (r *Reconciler) Reconcile(ctx context.Context, b *v1alpha1.ProgramBundle) (ctrl.Result, error) {
	if b.Namespace != r.Settings.Namespace || b.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	o, err := r.observe(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(b, o, r.Settings, r.Clock.Now())
	if d.remove {
		return ctrl.Result{}, apply.DeleteAsRead(ctx, r.Client, &v1alpha1.ProgramBundle{ObjectMeta: b.ObjectMeta})
	}
	if d.job != nil {
		err := r.Client.Create(ctx, d.job, client.FieldOwner(v1alpha1.FieldOwnerOperator))
		if err != nil && !apierrors.IsAlreadyExists(err) { // The cache is late.
			return ctrl.Result{}, fmt.Errorf("create Job %s: %w", d.job.Name, err)
		}
	}
	return ctrl.Result{RequeueAfter: d.again}, r.applyStatus(ctx, b, d.status)
}

// observe reads what decisions depend on.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.ProgramBundle) (observed, error) {
	users, err := r.UsersOf(ctx, b.Spec)
	if err != nil {
		return observed{}, err
	}
	o := observed{bridges: len(users)}
	step := stepOf(b, r.Settings)
	if step == nil {
		return o, nil
	}
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.InNamespace(b.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return o, fmt.Errorf("list Jobs: %w", err)
	}
	for i := range jobs.Items {
		switch job := &jobs.Items[i]; {
		case job.Name == step.jobName(b):
			o.job = job
		case !ended(job):
			o.others++
		}
	}
	if o.job != nil {
		var pods corev1.PodList
		if err := r.Live.List(ctx, &pods, client.InNamespace(b.Namespace), client.MatchingLabels{batchv1.JobNameLabel: o.job.Name}); err != nil {
			return o, fmt.Errorf("list the pods of Job %s: %w", o.job.Name, err)
		}
		o.pods = pods.Items
	}
	return o, nil
}

func (r *Reconciler) applyStatus(ctx context.Context, b *v1alpha1.ProgramBundle, s v1alpha1.ProgramBundleStatus) error {
	if equality.Semantic.DeepEqual(b.Status, s) {
		return nil
	}
	// With the version that was read, the API server refuses a status about an earlier attempt.
	object := &v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, ResourceVersion: b.ResourceVersion}}
	err := r.Client.Status().Patch(ctx, object, apply.Status(s), client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The event of the change reconciles the bundle again.
	}
	if err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	r.tell(b, s)
	return nil
}

// silent reports whether a condition is no event: it says what is being done, or repeats Ready.
func silent(c metav1.Condition) bool {
	return c.Type == v1alpha1.ConditionStalled || c.Reason == v1alpha1.ReasonInstalling ||
		c.Reason == v1alpha1.ReasonWorking || c.Reason == v1alpha1.ReasonNotFound
}

// tell records an event when a package has been installed or uploaded, or could not be.
func (r *Reconciler) tell(b *v1alpha1.ProgramBundle, s v1alpha1.ProgramBundleStatus) {
	for _, c := range s.Conditions {
		before := meta.FindStatusCondition(b.Status.Conditions, c.Type)
		if silent(c) || before != nil && before.Reason == c.Reason && before.Message == c.Message && s.Attempts <= b.Status.Attempts {
			continue
		}
		kind, action := corev1.EventTypeNormal, "Install"
		if c.Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		if c.Type == v1alpha1.ConditionInRegistry {
			action = "Upload"
		}
		r.Recorder.Eventf(b, nil, kind, c.Reason, action, "%s", bridgestate.Note(c.Message))
	}
}
