// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// conditions returns the bridge's conditions, always in the same order: six,
// Stable if its process ended repeatedly, ProfilesApplied if a profile selects it, and Stalled
// or Reconciling if it is not Ready.
//
// A suspended bridge is Ready, with the reason Suspended: it is as its spec
// wants it, and whoever waits for a set of manifests to become ready need not
// wait for it. Its calls are refused until it is resumed. A bridge that sleeps is
// Ready with the reason Asleep; its next call wakes it.
func conditions(o Observed, p Plan, out Outcome, now time.Time) []metav1.Condition {
	taken, workload := accepted(o, p), workloadAvailable(o, p, out)
	list := []metav1.Condition{taken, secretsSealed(o, p), workload, networkIsolated(o), serversHealthy(o, p), ready(o, p, taken, workload)}
	if c, ok := stable(o, p); ok {
		list = append(list, c)
	}
	if c, ok := profilesApplied(o); ok {
		list = append(list, c)
	}
	v1alpha1.NoteKstatus(&list, unready(p, out, list), meta.FindStatusCondition(list, v1alpha1.ConditionReady))
	for i := range list {
		list[i].Message = bounded(list[i].Message)
		list[i].ObservedGeneration = o.Bridge.Generation
		if kind := list[i].Type; kind == v1alpha1.ConditionWorkloadAvailable || kind == v1alpha1.ConditionReady {
			list[i].ObservedGeneration = p.generation(o) // They are about the spec that was applied.
		}
		list[i].LastTransitionTime = metav1.NewTime(now)
		before := meta.FindStatusCondition(o.Bridge.Status.Conditions, list[i].Type)
		if before != nil && before.Status == list[i].Status {
			list[i].LastTransitionTime = before.LastTransitionTime
		}
	}
	return list
}

// unready returns how kstatus names a bridge that is not Ready. It is empty for a bridge that is
// served, even if some of its servers fail.
func unready(p Plan, out Outcome, conditions []metav1.Condition) string {
	switch {
	case p.failed(out):
		return v1alpha1.ConditionStalled
	case !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady):
		return v1alpha1.ConditionReconciling
	}
	return ""
}

func isTrue(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(kind string, f Finding) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: f.Reason, Message: f.Message}
}

func isUnknown(kind string, f Finding) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: f.Reason, Message: f.Message}
}

// messageLimit is how many bytes of a message are kept. The API accepts eight
// times as many and refuses a whole status for one more, and much of a message
// comes from other programs.
const messageLimit = 4096

func bounded(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit], "") + "…"
}

func accepted(o Observed, p Plan) metav1.Condition {
	shared := sharedKeys(o)
	if p.Rejected != (Finding{}) {
		return isFalse(v1alpha1.ConditionAccepted, Finding{p.Rejected.Reason, p.Rejected.Message + shared})
	}
	reason := v1alpha1.ReasonAccepted
	out, warned := unusable(o.Bridge)
	without, failed := o.lacking(), o.notInstalled()
	switch {
	case shared != "":
		reason = v1alpha1.ReasonKeysShared
	case out != "":
		reason = v1alpha1.ReasonRecipesUnusable
	case without != "":
		reason = v1alpha1.ReasonRuntimesMissing
	case failed != "":
		reason = v1alpha1.ReasonProgramsNotInstalled
	}
	return isTrue(v1alpha1.ConditionAccepted, reason, "the installation takes the spec"+shared+out+without+failed+warned)
}

// available is the message of a workload as it should be.
const available = "the pod is ready"

func workloadAvailable(o Observed, p Plan, out Outcome) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	switch {
	case out.Failed != (Finding{}):
		return isFalse(kind, out.Failed)
	case p.Rejected != (Finding{}):
		return ofRejected(o, p)
	case p.Blocked != (Finding{}):
		return isFalse(kind, p.Blocked)
	case p.Queued:
		return isTrue(kind, v1alpha1.ReasonAsleep, "the bridge was called and waits for its turn to wake: as many as may start at once do")
	case p.Action == Suspend:
		return suspended(p, o, out.Workload)
	case p.Action == Hold && p.generation(o) != o.Bridge.Generation:
		return isTrue(kind, v1alpha1.ReasonAvailable, "the pod is ready; the change of the spec is applied when a keybroker is ready"+o.failing())
	case p.Action == Hold:
		return isTrue(kind, v1alpha1.ReasonAvailable, available+o.failing())
	default:
		return running(o, out.Workload)
	}
}

// ofRejected is workloadAvailable for a spec that is not accepted.
func ofRejected(o Observed, p Plan) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	message := "no pod is made for a spec that is not accepted"
	switch {
	case p.Rejected.Reason == v1alpha1.ReasonUserIDConflict:
		message = "the user id belongs to another HostedBridge, so no pod runs for this one"
	case o.running():
		return isTrue(kind, v1alpha1.ReasonAvailable, "the pod of the spec that was last accepted is ready"+o.failing())
	case p.IdleSince != nil:
		message = "the bridge sleeps, and does not wake with a spec that is not accepted"
	}
	return isFalse(kind, Finding{v1alpha1.ReasonNotAccepted, message})
}

func suspended(p Plan, o Observed, w *Workload) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	reason, why := v1alpha1.ReasonSuspended, "as spec.desiredState asks"
	if o.Bridge.Status.Access != nil {
		why = "since its users have no access"
	}
	if p.IdleSince != nil {
		reason, why = v1alpha1.ReasonAsleep, "since the bridge was not used for spec.idleTimeout"
	}
	if w == nil || !w.empty() || len(o.Pods) > 0 {
		return isFalse(kind, Finding{v1alpha1.ReasonProgressing, "the pod is ending, " + why})
	}
	return isTrue(kind, reason, "no pod runs, "+why)
}

func running(o Observed, w *Workload) metav1.Condition {
	const kind = v1alpha1.ConditionWorkloadAvailable
	current := o.current()
	f := Finding{v1alpha1.ReasonProgressing, "the pod is being made"}
	switch {
	case w == nil:
	case w.available(), w.availableBut(current):
		return isTrue(kind, v1alpha1.ReasonAvailable, available+o.failing())
	case w.ReplicaFailure != "":
		f = Finding{v1alpha1.ReasonPodRefused, "the pod cannot be made: " + w.ReplicaFailure}
	case current != nil && !current.Ready:
		f = notReady(current, o.KeybrokerReady)
	}
	return isFalse(kind, f)
}

// notReady says what a pod waits for.
func notReady(current *Pod, keybroker bool) Finding {
	switch {
	case current.Waiting != "":
		return Finding{cmp.Or(current.Blocked, v1alpha1.ReasonProgressing), fmt.Sprintf("pod %s is not ready: %s", current.Name, current.Waiting)}
	case current.Failing != "":
		return Finding{v1alpha1.ReasonProgressing, fmt.Sprintf(
			"pod %s is not ready: the bridge starts after the containers of its servers; %s", current.Name, current.Failing)}
	case !keybroker:
		return Finding{v1alpha1.ReasonKeybrokerUnavailable, fmt.Sprintf(
			"pod %s waits for a keybroker to be ready, and then starts by itself", current.Name)}
	default:
		return Finding{v1alpha1.ReasonProgressing, fmt.Sprintf("pod %s is not ready yet", current.Name)}
	}
}

// ready summarizes whether calls reach the bridge. Secrets do not decide it: a
// missing one takes the server that needs it out of service, and the others
// answer. Nor does the container of a server.
func ready(o Observed, p Plan, taken, workload metav1.Condition) metav1.Condition {
	for _, c := range []metav1.Condition{taken, workload} {
		if c.Status != metav1.ConditionTrue {
			return isFalse(v1alpha1.ConditionReady, Finding{c.Reason, c.Message})
		}
	}
	if workload.Reason == v1alpha1.ReasonAsleep {
		return isTrue(v1alpha1.ConditionReady, v1alpha1.ReasonAsleep, "asleep: a call to status.url wakes the bridge and waits for it")
	}
	if workload.Reason == v1alpha1.ReasonSuspended {
		message := "suspended as spec.desiredState asks: calls are refused until it is Running or OnDemand"
		if a := o.Bridge.Status.Access; a != nil {
			message = "the access of its users is " + string(a.State) + ": calls are refused until spec.access of their BridgePersons is Allowed"
		}
		return isTrue(v1alpha1.ConditionReady, v1alpha1.ReasonSuspended, message)
	}
	out, _ := unusable(o.Bridge)
	return isTrue(v1alpha1.ConditionReady, v1alpha1.ReasonReady, "calls to status.url reach the bridge"+out+o.lacking()+o.notInstalled()+wanting(o.Bridge)+p.withdrawn(o)+o.failing())
}
