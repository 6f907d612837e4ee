// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Enforcement says whether the cluster's network enforces network policies.
type Enforcement string

// The possible results. The zero Enforcement means that nothing was tried yet.
const (
	Untried      Enforcement = ""
	Enforced     Enforcement = "Enforced"
	NotEnforced  Enforcement = "NotEnforced"
	Undetermined Enforcement = "Undetermined"
)

// Isolation is what is observed of the network between a bridge and others. The
// zero Isolation is that of an installation without policies.
type Isolation struct {
	// Policies means that the installation creates a policy for each namespace
	// with tenants, and Required that it accepts no tenant without an enforced
	// one.
	Policies, Required bool
	// PolicyExists says that the bridge's namespace has its policy.
	PolicyExists bool
	// Probed means that the installation tries whether policies are enforced.
	Probed bool
	// Enforcement is the result, and Why the reason if it is unknown.
	Enforcement Enforcement
	Why         string
}

// Attempt is the result of one pod's attempt to connect.
type Attempt struct {
	// Ended means that the pod finished its attempt, and Reached that it could
	// connect. Otherwise Why says what kept it.
	Ended, Reached bool
	Why            string
}

// JudgeAttempts returns what two attempts to connect to one address show; a
// policy forbids the second. If the first fails too, the second shows nothing.
func JudgeAttempts(open, denied Attempt) (Enforcement, string) {
	switch {
	case !open.Ended:
		return Undetermined, "the pod that may connect did not try: " + open.Why
	case !open.Reached:
		return Undetermined, "the pod that may connect did not reach the operator, so that nothing can be said of the one that may not"
	case !denied.Ended:
		return Undetermined, "the pod that may not connect did not try: " + denied.Why
	case denied.Reached:
		return NotEnforced, ""
	default:
		return Enforced, ""
	}
}

// networkIsolates checks that the network isolates the tenant, if the
// installation requires it. An accepted bridge stays accepted until it is known
// that the network does not isolate it: a probe that could not run must not
// keep sleeping bridges from waking.
func networkIsolates(o Observed) Finding {
	if !o.Isolation.Required {
		return Finding{}
	}
	c := networkIsolated(o)
	taken := meta.IsStatusConditionTrue(o.Bridge.Status.Conditions, v1alpha1.ConditionAccepted)
	if c.Status == metav1.ConditionTrue || taken && c.Reason != v1alpha1.ReasonNetworkPolicyNotEnforced && c.Reason != v1alpha1.ReasonNetworkPolicyOff {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonNetworkPolicyNotEnforced, "the installation takes no tenant whom the network does not keep apart from others: " + c.Message}
}

// networkIsolated says whether the network keeps the bridge's pod from others.
func networkIsolated(o Observed) metav1.Condition {
	const kind = v1alpha1.ConditionNetworkIsolated
	i := o.Isolation
	switch {
	case !i.Policies:
		return isFalse(kind, Finding{v1alpha1.ReasonNetworkPolicyOff, "the installation makes no network policies: its operator was started with --network-policy=false"})
	case !i.PolicyExists:
		return isFalse(kind, Finding{v1alpha1.ReasonNetworkPolicyMissing, fmt.Sprintf(
			"namespace %s does not have the installation's NetworkPolicy yet; where it has one of somebody else's with its name, hosted-bridge-tenants, delete or rename that", o.Bridge.Namespace)})
	case i.Enforcement == Enforced:
		return isTrue(kind, v1alpha1.ReasonNetworkPolicyEnforced, "the namespace has the installation's NetworkPolicy, and a probe's forbidden connection was blocked")
	case i.Enforcement == NotEnforced:
		return notEnforced(i.Required)
	case i.Enforcement == Undetermined:
		return isUnknown(kind, Finding{v1alpha1.ReasonProbeFailed, "it could not be tried whether network policies hold: " + i.Why})
	case !i.Probed:
		return isUnknown(kind, Finding{v1alpha1.ReasonNotProbed, "the namespace has the installation's NetworkPolicy, and nobody tries whether it holds: the operator was started with --network-policy-probe=false"})
	default:
		return untried(o)
	}
}

// notEnforced is networkIsolated where the network ignores policies. That is a
// fault of the installation, which reports it once by its log, metric and alert:
// the bridge is at fault only where the installation requires that they hold.
func notEnforced(required bool) metav1.Condition {
	f := Finding{v1alpha1.ReasonNetworkPolicyNotEnforced,
		"the cluster's network does not do what network policies say: a pod connected though a policy forbids it; use a network plugin that enforces them"}
	if required {
		return isFalse(v1alpha1.ConditionNetworkIsolated, f)
	}
	return isUnknown(v1alpha1.ConditionNetworkIsolated, f)
}

// untried is networkIsolated before the operator that leads has tried. The
// earlier leader's result still counts.
func untried(o Observed) metav1.Condition {
	const kind = v1alpha1.ConditionNetworkIsolated
	if before := meta.FindStatusCondition(o.Bridge.Status.Conditions, kind); before != nil && tried[before.Reason] {
		if before.Reason == v1alpha1.ReasonNetworkPolicyNotEnforced {
			return notEnforced(o.Isolation.Required)
		}
		return metav1.Condition{Type: kind, Status: before.Status, Reason: before.Reason, Message: before.Message}
	}
	return isUnknown(kind, Finding{v1alpha1.ReasonProbePending, "it is being tried whether network policies hold"})
}

// tried are the reasons that an attempt gave.
var tried = map[string]bool{
	v1alpha1.ReasonNetworkPolicyEnforced: true, v1alpha1.ReasonNetworkPolicyNotEnforced: true, v1alpha1.ReasonProbeFailed: true,
}
