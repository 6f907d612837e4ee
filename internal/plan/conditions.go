// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// conditions returns the bridge's conditions, always all four and in the same
// order.
//
// A suspended bridge is Ready, with the reason Suspended: it is as its spec
// wants it, and whoever waits for a set of manifests to become ready need not
// wait for it. Its calls are refused until it is resumed.
func conditions(o Observed, p Plan, out Outcome, now time.Time) []metav1.Condition {
	list := []metav1.Condition{accepted(p), secretsSealed(), workloadAvailable(o, p, out)}
	list = append(list, ready(list))
	for i := range list {
		list[i].ObservedGeneration = o.Bridge.Generation
		list[i].LastTransitionTime = metav1.NewTime(now)
		before := meta.FindStatusCondition(o.Bridge.Status.Conditions, list[i].Type)
		if before != nil && before.Status == list[i].Status {
			list[i].LastTransitionTime = before.LastTransitionTime
		}
	}
	return list
}

func isTrue(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(kind string, f Finding) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: f.Reason, Message: f.Message}
}

func accepted(p Plan) metav1.Condition {
	if p.Rejected != (Finding{}) {
		return isFalse(v1alpha1.ConditionAccepted, p.Rejected)
	}
	return isTrue(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "the installation takes the spec")
}

func secretsSealed() metav1.Condition {
	return isTrue(v1alpha1.ConditionSecretsSealed, v1alpha1.ReasonNothingToSeal, "the spec names no secrets")
}

func workloadAvailable(o Observed, p Plan, out Outcome) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	current := o.current()
	switch {
	case out.Failed != (Finding{}):
		return isFalse(kind, out.Failed)
	case p.Rejected.Reason == v1alpha1.ReasonUserIDConflict:
		return isFalse(kind, Finding{v1alpha1.ReasonNotAccepted, "the user id belongs to another HostedBridge, so no pod runs for this one"})
	case p.Rejected != (Finding{}) && current != nil && current.Ready:
		return isTrue(kind, v1alpha1.ReasonAvailable, "the pod of the spec that was last accepted is ready")
	case p.Rejected != (Finding{}):
		return isFalse(kind, Finding{v1alpha1.ReasonNotAccepted, "no pod is made for a spec that is not accepted"})
	case p.Blocked != (Finding{}):
		return isFalse(kind, p.Blocked)
	case p.Action == Suspend:
		return suspended(o, out.Workload)
	default:
		return running(current, out.Workload)
	}
}

func suspended(o Observed, w *Workload) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	if w == nil || !w.empty() || len(o.Pods) > 0 {
		return isFalse(kind, Finding{v1alpha1.ReasonProgressing, "the pod is ending, as spec.desiredState asks"})
	}
	return isTrue(kind, v1alpha1.ReasonSuspended, "no pod runs, as spec.desiredState asks")
}

func running(current *Pod, w *Workload) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	message := "the pod is being made"
	switch {
	case w == nil:
	case w.available():
		return isTrue(kind, v1alpha1.ReasonAvailable, "the pod is ready")
	case w.ReplicaFailure != "":
		message = "the pod cannot be made: " + w.ReplicaFailure
	case current != nil && current.Waiting != "":
		message = fmt.Sprintf("pod %s is not ready: %s", current.Name, current.Waiting)
	case current != nil && !current.Ready:
		message = fmt.Sprintf("pod %s is not ready yet", current.Name)
	}
	return isFalse(kind, Finding{v1alpha1.ReasonProgressing, message})
}

// ready sums the other conditions up.
func ready(others []metav1.Condition) metav1.Condition {
	for _, c := range others {
		if c.Status != metav1.ConditionTrue {
			return isFalse(v1alpha1.ConditionReady, Finding{c.Reason, c.Message})
		}
	}
	if others[len(others)-1].Reason == v1alpha1.ReasonSuspended {
		return isTrue(v1alpha1.ConditionReady, v1alpha1.ReasonSuspended,
			"suspended as spec.desiredState asks: calls are refused until it is Running or OnDemand")
	}
	return isTrue(v1alpha1.ConditionReady, v1alpha1.ReasonReady, "calls to status.url reach the bridge")
}
