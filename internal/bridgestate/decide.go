// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Action is what happens to a bridge's objects.
type Action string

// The actions.
const (
	// Leave applies nothing: what runs is left as it is.
	Leave Action = "Leave"
	// Prepare applies what a pod needs, but no Deployment.
	Prepare Action = "Prepare"
	// Hold applies the ServiceAccount alone. Otherwise the running pod would
	// end for one that cannot start, or get a configuration before it has the
	// secrets for it.
	Hold Action = "Hold"
	// Suspend applies everything, with no pod; for a spec that is not accepted
	// it only removes the pod.
	Suspend Action = "Suspend"
	// Run applies everything, with one pod.
	Run Action = "Run"
)

// Plan is a decision.
type Plan struct {
	// Action is what to do with the bridge's objects.
	Action Action
	// Trust is the CA certificate in PEM that the bridge's pod is given.
	Trust string
	// RuntimeClass is the RuntimeClass of the bridge's pod, empty for the
	// cluster's own way to run pods.
	RuntimeClass string
	// Rejected says why the spec is not accepted. It is zero for one that is.
	Rejected Finding
	// Blocked says why an accepted bridge has no pod yet.
	Blocked Finding
	// IdleSince is since when a sleeping bridge has not been used. It is nil
	// for a bridge that does not sleep.
	IdleSince *metav1.Time
	// Queued means that the bridge was called and waits for its turn to wake.
	Queued bool
	// Replace is the pod to delete, so that the bridge starts in another one
	// at once; nil for none.
	Replace *Pod
	// Claims are the PersistentVolumeClaims that exist. Dropped are those to delete,
	// because their servers left the spec.
	Claims, Dropped []Claim
	// RequeueAfter is when to decide again although no change was observed;
	// zero means never.
	RequeueAfter time.Duration
}

// Decide returns what to do about o.
func Decide(o Observed, now time.Time) Plan {
	p := decide(o, now)
	p.RequeueAfter = sooner(p.RequeueAfter, o.forgets(now))
	if p.Action == Run {
		p.Replace = o.down()
	}
	p.Claims = o.Claims
	if p.Rejected == (Finding{}) && (p.Action == Run || p.Action == Suspend) {
		p.Dropped = dropped(o.Bridge, o.Claims)
	}
	return p
}

func decide(o Observed, now time.Time) Plan {
	p := Plan{Trust: o.Trust, RuntimeClass: runtimeClass(o), Rejected: accept(o)}
	switch {
	case p.Rejected != (Finding{}) && o.mustStop(p.Rejected):
		p.Action = Suspend
	case p.Rejected != (Finding{}):
		p.Action = Leave
		p.IdleSince = o.Bridge.Status.IdleSince // A sleeping bridge goes on sleeping.
	case o.Bridge.Spec.DesiredState == v1alpha1.StateSuspended:
		p.Action = Suspend
	case o.Bridge.Asleep() && (!o.Bridge.Woken() || o.Waking.full()):
		return p.wake(o)
	case o.Trust == "":
		p.Action = Prepare
		p.Blocked = Finding{v1alpha1.ReasonTrustMissing,
			"waiting for the keybroker to publish its CA certificate; a pod could not tell it from an impostor"}
	case !o.KeybrokerReady && o.running():
		p.Action = Hold
	default:
		p.Action = Run
	}
	return p.sleep(o, now)
}

// mustStop reports whether the pod of a bridge ends whose spec is not accepted. Two bridges
// of the same second can both have started before either saw the other: no call reaches the
// second one in the order. People without access have no pod, whatever their spec says.
func (o Observed) mustStop(rejected Finding) bool {
	return o.WorkloadExists && (rejected.Reason == v1alpha1.ReasonUserIDConflict || o.Bridge.Status.Access != nil)
}

// runtimeClass returns the class that the bridge's spec names, or that of its
// tier.
func runtimeClass(o Observed) string {
	return ptr.Deref(o.Bridge.Spec.RuntimeClassName, o.Tiers[o.Bridge.Spec.Tier].RuntimeClassName)
}
