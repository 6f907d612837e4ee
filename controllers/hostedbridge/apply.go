// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// apply writes the objects of p one after the other. It stops at the first that
// fails: a pod must not start with a ServiceAccount that is not the bridge's.
// The error is for a retry; a failure that a user can repair is in the outcome
// too.
func (r *Reconciler) apply(
	ctx context.Context, b *effective.Bridge, p bridgestate.Plan, s bridgeobjects.Settings,
) (bridgestate.Outcome, error) {
	objects, err := bridgeobjects.Objects(b, p, s)
	if err != nil {
		return bridgestate.Outcome{Failed: bridgestate.Finding{Reason: v1alpha1.ReasonApplyFailed, Message: err.Error()}}, err
	}
	var outcome bridgestate.Outcome
	for _, object := range objects {
		held, err := r.write(ctx, b.HostedBridge, object)
		if err != nil {
			outcome.Failed = failure(err)
			if isForeign(err) {
				return outcome, nil // An early retry would get the same answer.
			}
			return outcome, err
		}
		note(&outcome, object, held)
	}
	return outcome, nil
}

// write applies one object. A claim can belong to an earlier bridge with the same name
// and user, so it is not found by its controller.
func (r *Reconciler) write(ctx context.Context, b *v1alpha1.HostedBridge, object runtime.ApplyConfiguration) (client.Object, error) {
	if _, claim := object.(*corev1ac.PersistentVolumeClaimApplyConfiguration); claim {
		return r.applier().Kept(ctx, b, object, func(o metav1.Object) bool { return claimBelongs(o, b) })
	}
	return r.applier().Object(ctx, b, object)
}

// note adds to out the state of an object that was applied, or held because it
// did not have to be.
func note(out *bridgestate.Outcome, object runtime.ApplyConfiguration, held client.Object) {
	switch o := object.(type) {
	case *corev1ac.ConfigMapApplyConfiguration:
		out.Configuration = bridgeobjects.DigestIn(o)
		if held != nil {
			out.ConfigMap = bridgestate.ConfigMap{Made: held.GetCreationTimestamp().Time, Written: apply.Written(held, v1alpha1.FieldOwnerOperator)}
		}
	case *appsv1ac.DeploymentApplyConfiguration:
		out.Workload = workload(o)
		if d, ok := held.(*appsv1.Deployment); ok {
			out.Workload = heldWorkload(d)
		}
	}
}

// tell makes the nodes of running pods fetch a configuration that has changed.
// A deleted pod does not need it, and a pod that started with the configuration
// has it already.
func (r *Reconciler) tell(
	ctx context.Context, o bridgestate.Observed, p bridgestate.Plan, out bridgestate.Outcome, s bridgeobjects.Settings,
) error {
	if p.Action != bridgestate.Run || out.Workload == nil {
		return nil // No pod is to have it, and it may not even be a configuration.
	}
	digest, err := bridgeobjects.Digest(o.Bridge, s)
	if err != nil {
		return err
	}
	for _, pod := range p.Untold(o, out, digest) {
		if err := r.applier().Existing(ctx, pod.UID, bridgeobjects.Told(o.Bridge, pod, digest)); err != nil {
			return err
		}
	}
	return nil
}

// replace deletes the pod whose bridge the kubelet would start again only after
// some time. The Deployment's controller makes another one at once.
func (r *Reconciler) replace(ctx context.Context, b *v1alpha1.HostedBridge, p bridgestate.Plan) error {
	if p.Replace == nil {
		return nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: p.Replace.Name}}
	return r.applier().Delete(ctx, p.Replace.UID, pod)
}

func isForeign(err error) bool {
	_, foreign := errors.AsType[*apply.ForeignError](err)
	return foreign
}

// failure turns an error of apply into a reason and a message. It is zero for
// an error that says nothing about the objects.
func failure(err error) bridgestate.Finding {
	if foreign, ok := errors.AsType[*apply.ForeignError](err); ok {
		reason := v1alpha1.ReasonNotOwned
		if foreign.Predecessor {
			reason = v1alpha1.ReasonProgressing
		}
		return bridgestate.Finding{Reason: reason, Message: foreign.Error()}
	}
	if message, refused := apply.Refusal(err); refused {
		return bridgestate.Finding{Reason: v1alpha1.ReasonApplyFailed, Message: message}
	}
	return bridgestate.Finding{}
}

// heldWorkload is workload for a Deployment that did not have to be applied.
func heldWorkload(d *appsv1.Deployment) *bridgestate.Workload {
	w := &bridgestate.Workload{
		Generation: d.Generation, ObservedGeneration: d.Status.ObservedGeneration,
		Replicas: d.Status.Replicas, Updated: d.Status.UpdatedReplicas, Available: d.Status.AvailableReplicas,
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.ReplicaFailure = c.Message
		}
	}
	return w
}

// workload reads what the API server answered to the apply of d.
func workload(d *appsv1ac.DeploymentApplyConfiguration) *bridgestate.Workload {
	w := &bridgestate.Workload{Generation: ptr.Deref(d.Generation, 0)}
	if d.Status == nil {
		return w
	}
	w.ObservedGeneration = ptr.Deref(d.Status.ObservedGeneration, 0)
	w.Replicas = ptr.Deref(d.Status.Replicas, 0)
	w.Updated = ptr.Deref(d.Status.UpdatedReplicas, 0)
	w.Available = ptr.Deref(d.Status.AvailableReplicas, 0)
	for _, c := range d.Status.Conditions {
		if ptr.Deref(c.Type, "") == appsv1.DeploymentReplicaFailure && ptr.Deref(c.Status, "") == corev1.ConditionTrue {
			w.ReplicaFailure = ptr.Deref(c.Message, "")
		}
	}
	return w
}
