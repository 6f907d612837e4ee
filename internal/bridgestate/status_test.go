// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/health"
)

// rolled is a Deployment whose pod is ready.
var rolled = Workload{Generation: 2, ObservedGeneration: 2, Replicas: 1, Updated: 1, Available: 1}

func workload(change func(*Workload)) Outcome {
	w := rolled
	change(&w)
	return Outcome{Workload: &w}
}

func withPods(pods ...Pod) func(*Observed) { return func(o *Observed) { o.Pods = pods } }

func TestStatus(t *testing.T) {
	ready := Pod{Name: "ready", Created: now, Ready: true}
	waiting := Pod{Name: "new", Created: now, Waiting: "container bridge is waiting: ImagePullBackOff"}
	ending := Pod{Name: "old", Created: now, Ready: true, Deleting: true}
	failing := Pod{Name: "ready", Created: now, Ready: true, Failing: "server github does not run"}
	blocked := Pod{Name: "new", Created: now, Failing: "server github does not run"}
	unavailable := workload(func(w *Workload) { w.Available = 0 })
	suspended := withState(v1alpha1.StateSuspended)
	empty := workload(func(w *Workload) { w.Replicas, w.Updated, w.Available = 0, 0, 0 })
	available := Outcome{Workload: &rolled}
	failed := func(reason string) Outcome { return Outcome{Failed: Finding{reason, "why"}} }
	older := withRival(bridge("other", "first", 2*time.Hour))

	const taken, pending = "True Accepted", "False Progressing"
	tests := map[string]struct {
		o                         Observed
		out                       Outcome
		phase                     v1alpha1.Phase
		accepted, workload, ready string
		pod                       string
	}{
		"ready, and a server does not run":  {observed(withPods(failing)), unavailable, "Running", taken, "True Available", "True Ready", "ready"},
		"no pod yet, and the one before":    {observed(withPods(failing)), workload(func(w *Workload) { w.Replicas, w.Updated, w.Available = 0, 0, 0 }), "Pending", taken, pending, pending, "ready"},
		"not yet ready for a server":        {observed(withPods(blocked)), unavailable, "Pending", taken, pending, pending, "new"},
		"the pod before, and a server":      {observed(withPods(failing)), workload(func(w *Workload) { w.Available, w.Updated = 0, 0 }), "Pending", taken, pending, pending, "ready"},
		"just made":                         {observed(), workload(func(w *Workload) { *w = Workload{Generation: 1} }), "Pending", taken, pending, pending, ""},
		"ready":                             {observed(withPods(ready)), available, "Running", taken, "True Available", "True Ready", "ready"},
		"changed, and not yet seen":         {observed(withPods(ready)), workload(func(w *Workload) { w.Generation++ }), "Pending", taken, pending, pending, "ready"},
		"the pod before is still there":     {observed(withPods(ready)), workload(func(w *Workload) { w.Replicas = 2 }), "Pending", taken, pending, pending, "ready"},
		"the new pod is not ready":          {observed(withPods(waiting)), workload(func(w *Workload) { w.Available = 0 }), "Pending", taken, pending, pending, "new"},
		"the old pod is ending":             {observed(withPods(ending)), workload(func(w *Workload) { w.Available = 0 }), "Pending", taken, pending, pending, ""},
		"no answer to an apply":             {observed(), Outcome{}, "Pending", taken, pending, pending, ""},
		"no certificate":                    {observed(withoutTrust), Outcome{}, "Pending", taken, "False TrustMissing", "False TrustMissing", ""},
		"suspended":                         {observed(suspended), empty, "Suspended", taken, "True Suspended", "True Suspended", ""},
		"suspended, the pod is ending":      {observed(suspended, withPods(ending)), empty, "Pending", taken, pending, pending, ""},
		"suspended, the pod is to end":      {observed(suspended, withPods(ready)), available, "Pending", taken, pending, pending, "ready"},
		"suspended, and not yet seen":       {observed(suspended), workload(func(w *Workload) { *w = Workload{Generation: 1} }), "Pending", taken, pending, pending, ""},
		"a foreign object":                  {observed(), failed("NotOwned"), "Failed", taken, "False NotOwned", "False NotOwned", ""},
		"a refused object":                  {observed(withPods(ready)), failed("ApplyFailed"), "Failed", taken, "False ApplyFailed", "False ApplyFailed", "ready"},
		"a predecessor's object":            {observed(), failed("Progressing"), "Pending", taken, pending, pending, ""},
		"rejected, nothing runs":            {observed(withTier("gold")), Outcome{}, "Failed", "False UnknownTier", "False NotAccepted", "False UnknownTier", ""},
		"rejected, and something runs":      {observed(withTier("gold"), withPods(ready)), Outcome{}, "Failed", "False UnknownTier", "True Available", "False UnknownTier", "ready"},
		"rejected, what ran is not ready":   {observed(withTier("gold"), withPods(waiting)), Outcome{}, "Failed", "False UnknownTier", "False NotAccepted", "False UnknownTier", "new"},
		"another's user id":                 {observed(older), Outcome{}, "Failed", "False UserIDConflict", "False NotAccepted", "False UserIDConflict", ""},
		"another's user id, and a late pod": {observed(older, withPods(ready), withWorkload), empty, "Failed", "False UserIDConflict", "False NotAccepted", "False UserIDConflict", "ready"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Decide(tt.o, now).Status(tt.o, tt.out, now)
			got := map[string]string{}
			for _, c := range s.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
				if c.Message == "" || c.ObservedGeneration != 3 {
					t.Errorf("%s has the message %q of generation %d", c.Type, c.Message, c.ObservedGeneration)
				}
			}
			want := map[string]string{"Accepted": tt.accepted, "SecretsSealed": "True NothingToSeal", "WorkloadAvailable": tt.workload, "NetworkIsolated": "False NetworkPolicyOff",
				"ServersHealthy": "True ServersHealthy", "Ready": tt.ready,
			}
			seen := health.Current
			if reason, unready := strings.CutPrefix(tt.ready, "False "); unready {
				kind := v1alpha1.ConditionReconciling
				seen = health.InProgress
				if tt.phase == v1alpha1.PhaseFailed {
					kind, seen = v1alpha1.ConditionStalled, health.Failed
				}
				want[kind] = "True " + reason
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			tt.o.Bridge.Status = s
			health.Expect(t, tt.o.Bridge, seen)
			if s.Phase != tt.phase || s.PodName != tt.pod || s.UserID != "alice" || s.ObservedGeneration != 3 {
				t.Errorf("phase %s, pod %q, user %s, generation %d", s.Phase, s.PodName, s.UserID, s.ObservedGeneration)
			}
			if s.Servers != "" || s.Tools != nil || s.LastActivityTime != nil {
				t.Error("the status holds what the ingress writes")
			}
		})
	}
}

func TestProgressSaysWhatItWaitsFor(t *testing.T) {
	tests := map[string]struct {
		pods []Pod
		w    Workload
		want string
	}{
		"nothing yet":          {nil, Workload{Generation: 1}, "the pod is being made"},
		"no node has room":     {[]Pod{{Name: "p", Waiting: "0/1 nodes are available", Blocked: v1alpha1.ReasonPodUnschedulable}}, Workload{}, "pod p is not ready: 0/1 nodes are available"},
		"a pod is starting":    {[]Pod{{Name: "p"}}, Workload{Generation: 1, ObservedGeneration: 1}, "pod p is not ready yet"},
		"a pod waits":          {[]Pod{{Name: "p", Waiting: "0/1 nodes are available"}}, Workload{}, "pod p is not ready: 0/1 nodes are available"},
		"no pod can be made":   {nil, Workload{ReplicaFailure: "exceeded quota"}, "the pod cannot be made: exceeded quota"},
		"a server's container": {[]Pod{{Name: "p", Failing: "server github does not run"}}, Workload{}, "pod p is not ready: the bridge starts after the containers of its servers; server github does not run"},
		"a server's container, and it runs without it": {[]Pod{{Name: "p", Ready: true, Failing: "server github does not run"}}, Workload{Replicas: 1, Updated: 1}, "calls to status.url reach the bridge; server github does not run"},
		"one that is too many":                         {[]Pod{{Name: "p", Ready: true}}, Workload{Replicas: 2, Updated: 1, Available: 2}, "the pod is being made"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(withPods(tt.pods...))
			s := Decide(o, now).Status(o, Outcome{Workload: &tt.w}, now)
			for _, c := range s.Conditions {
				reason := map[string]string{"no pod can be made": v1alpha1.ReasonPodRefused, "no node has room": v1alpha1.ReasonPodUnschedulable}[name]
				if c.Type == v1alpha1.ConditionReady && (c.Message != tt.want || reason != "" && c.Reason != reason) {
					t.Errorf("got %s %q, want %q", c.Reason, c.Message, tt.want)
				}
			}
		})
	}
}

func TestTheNewestReadyPodStandsForTheBridge(t *testing.T) {
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	tests := map[string]struct {
		pods []Pod
		want string
	}{
		"none":                      {nil, ""},
		"a ready one over a newer":  {[]Pod{{Name: "a", Created: at(1), Ready: true}, {Name: "b", Created: at(2)}}, "a"},
		"the newer of two":          {[]Pod{{Name: "a", Created: at(2)}, {Name: "b", Created: at(1)}}, "a"},
		"the same order every time": {[]Pod{{Name: "b", Created: at(1)}, {Name: "a", Created: at(1)}}, "b"},
		"never one that is ending":  {[]Pod{{Name: "a", Created: at(1), Ready: true, Deleting: true}, {Name: "b", Created: at(0)}}, "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(withPods(tt.pods...))
			if s := Decide(o, now).Status(o, Outcome{}, now); s.PodName != tt.want {
				t.Errorf("got %q, want %q", s.PodName, tt.want)
			}
		})
	}
}

func TestTransitionTimesMoveOnlyWithTheStatus(t *testing.T) {
	o := observed(withPods(Pod{Name: "p"}), withState(v1alpha1.StateRunning))
	before := Decide(o, now).Status(o, workload(func(w *Workload) { w.Available = 0 }), now)
	o.Bridge.Status = before
	o.Pods[0].Ready = true
	later := now.Add(time.Hour)
	after := Decide(o, later).Status(o, Outcome{Workload: &rolled}, later)
	want := map[string]time.Time{"Accepted": now, "SecretsSealed": now, "WorkloadAvailable": later, "NetworkIsolated": now, "ServersHealthy": now, "Ready": later}
	got := map[string]time.Time{}
	for _, c := range after.Conditions {
		got[c.Type] = c.LastTransitionTime.Time
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transition times (-want +got):\n%s", diff)
	}

	o.Bridge.Status = after
	again := Decide(o, later.Add(time.Hour)).Status(o, Outcome{Workload: &rolled}, later.Add(time.Hour))
	if diff := cmp.Diff(after, again); diff != "" {
		t.Errorf("time alone changes the status (-before +after):\n%s", diff)
	}
}

func TestRequeue(t *testing.T) {
	for reason, want := range map[string]time.Duration{"": 0, "ApplyFailed": 0, "Progressing": 0, "NotOwned": time.Minute} {
		if got := (Outcome{Failed: Finding{Reason: reason}}).RequeueAfter(); got != want {
			t.Errorf("after %q: %s, want %s", reason, got, want)
		}
	}
}

func TestDecisionsDoNotChangeWhatWasObserved(t *testing.T) {
	o := observed(withPods(Pod{Name: "a", Deleting: true}, Pod{Name: "b"}), withRival(bridge("other", "first", 2*time.Hour)))
	o.Bridge.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	bridge, pods := o.Bridge.DeepCopy(), []Pod{{Name: "a", Deleting: true}, {Name: "b"}}
	Decide(o, now).Status(o, Outcome{}, now)
	if diff := cmp.Diff(bridge, o.Bridge.HostedBridge); diff != "" {
		t.Errorf("the bridge (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(pods, o.Pods); diff != "" {
		t.Errorf("the pods (-before +after):\n%s", diff)
	}
}
