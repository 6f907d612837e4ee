// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const idle = 10 * time.Minute

func ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }

// onDemand is a bridge with that idleTimeout whose pod has been ready for an
// hour.
func onDemand(o *Observed) {
	o.Bridge.Spec.IdleTimeout = &metav1.Duration{Duration: idle}
	withPods(Pod{Name: "p", Ready: true})(o)
	readyFor(time.Hour)(o)
}

func readyFor(d time.Duration) func(*Observed) {
	return func(o *Observed) {
		o.Bridge.Status.Phase = v1alpha1.PhaseRunning
		o.Bridge.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAvailable, LastTransitionTime: *ago(d),
		}}
	}
}

func usedAgo(d time.Duration) func(*Observed) {
	return func(o *Observed) { o.Bridge.Status.LastActivityTime = ago(d) }
}

// asleep is a bridge that fell asleep and was last used d ago.
func asleep(d time.Duration) func(*Observed) {
	return func(o *Observed) {
		o.Pods = nil
		o.Bridge.Status.Phase = v1alpha1.PhaseAsleep
		o.Bridge.Status.IdleSince = ago(d)
		o.Bridge.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAsleep, LastTransitionTime: *ago(d),
		}}
	}
}

func behind(ahead int) func(*Observed) {
	return func(o *Observed) { o.Waking = Waking{Limit: 2, Ahead: ahead} }
}

func TestABridgeOnDemandSleepsWhenItIsNotUsed(t *testing.T) {
	followed := func(d time.Duration) func(*Observed) { return func(o *Observed) { o.FollowedSince = now.Add(-d) } }
	atLeast := func(d time.Duration) func(*Observed) { return func(o *Observed) { o.MinIdleTimeout = d } }
	tests := map[string]struct {
		o       Observed
		action  Action
		since   *metav1.Time
		requeue time.Duration
	}{
		"it was used a moment ago":                             {observed(onDemand, usedAgo(0)), Run, nil, idle},
		"it is not time yet":                                   {observed(onDemand, usedAgo(idle-time.Nanosecond)), Run, nil, time.Nanosecond},
		"it is time":                                           {observed(onDemand, usedAgo(idle)), Suspend, ago(idle), 0},
		"long after it was time":                               {observed(onDemand, usedAgo(40*time.Minute)), Suspend, ago(40 * time.Minute), 0},
		"it was never used, and is ready for long":             {observed(onDemand), Suspend, ago(time.Hour), 0},
		"it was never used, and is ready since shortly":        {observed(onDemand, readyFor(time.Minute)), Run, nil, idle - time.Minute},
		"it was used before it became ready":                   {observed(onDemand, usedAgo(30*time.Minute), readyFor(time.Minute)), Run, nil, idle - time.Minute},
		"a clock of the ingress is ahead":                      {observed(onDemand, usedAgo(-time.Minute)), Run, nil, idle + time.Minute},
		"its pod is ready, and its status does not say so yet": {observed(onDemand, asleep(time.Hour), usedAgo(time.Minute), withPods(Pod{Name: "p", Ready: true})), Run, nil, idle},
		"its pod is not ready":                                 {observed(onDemand, usedAgo(time.Hour), withPods(Pod{Name: "p"})), Run, nil, 0},
		"it has no pod":                                        {observed(onDemand, usedAgo(time.Hour), withPods()), Run, nil, 0},
		"no keybroker is there to wake it with":                {observed(onDemand, usedAgo(time.Hour), withoutKeybroker), Hold, nil, 0},
		"the operator has just begun to look":                  {observed(onDemand, usedAgo(time.Hour), followed(15*time.Second)), Run, nil, 45 * time.Second},
		"the operator has looked long enough":                  {observed(onDemand, usedAgo(time.Hour), followed(time.Minute)), Suspend, ago(time.Hour), 0},
		"its time is shorter than what counts":                 {observed(onDemand, usedAgo(idle), atLeast(15*time.Minute)), Run, nil, 5 * time.Minute},
		"its time is longer than what counts":                  {observed(onDemand, usedAgo(idle), atLeast(time.Minute)), Suspend, ago(idle), 0},
		"its spec is not accepted":                             {observed(onDemand, usedAgo(time.Hour), withTier("gold")), Leave, nil, 0},
		"it shall always run":                                  {observed(onDemand, usedAgo(time.Hour), withState(v1alpha1.StateRunning)), Run, nil, 0},
		"it shall not run":                                     {observed(onDemand, usedAgo(0), withState(v1alpha1.StateSuspended)), Suspend, nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.o, now)
			if p.Action != tt.action || !p.IdleSince.Equal(tt.since) || p.RequeueAfter != tt.requeue {
				t.Errorf("got %s, idle since %v, again in %s; want %s, %v, %s", p.Action, p.IdleSince, p.RequeueAfter, tt.action, tt.since, tt.requeue)
			}
		})
	}
}

func TestABridgeThatSleepsWakesWhenItIsCalledAndItIsItsTurn(t *testing.T) {
	tests := map[string]struct {
		o      Observed
		action Action
		queued bool
		asleep bool
		phase  v1alpha1.Phase
		answer *Workload
	}{
		"nobody calls":                     {observed(onDemand, asleep(time.Hour), usedAgo(time.Hour)), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"nobody ever called":               {observed(onDemand, asleep(time.Hour)), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"a late word of before":            {observed(onDemand, asleep(time.Hour), usedAgo(2*time.Hour)), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"no keybroker, and nobody calls":   {observed(onDemand, asleep(time.Hour), withoutKeybroker), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"no certificate, and nobody calls": {observed(onDemand, asleep(time.Hour), withoutTrust), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"somebody calls":                   {observed(onDemand, asleep(time.Hour), usedAgo(0)), Run, false, false, v1alpha1.PhaseWaking, new(gone)},
		"somebody called long ago":         {observed(onDemand, asleep(time.Hour), usedAgo(50*time.Minute)), Run, false, false, v1alpha1.PhaseWaking, new(gone)},
		"somebody calls, and one starts":   {observed(onDemand, asleep(time.Hour), usedAgo(0), behind(1)), Run, false, false, v1alpha1.PhaseWaking, new(gone)},
		"somebody calls, and many start":   {observed(onDemand, asleep(time.Hour), usedAgo(0), behind(2)), Leave, true, true, v1alpha1.PhaseWaking, nil},
		"nobody calls, and many start":     {observed(onDemand, asleep(time.Hour), usedAgo(time.Hour), behind(9)), Suspend, false, true, v1alpha1.PhaseAsleep, new(gone)},
		"it sleeps and shall always run":   {observed(onDemand, asleep(time.Hour), withState(v1alpha1.StateRunning)), Run, false, false, v1alpha1.PhasePending, new(gone)},
		"it sleeps and shall not run":      {observed(onDemand, asleep(time.Hour), withState(v1alpha1.StateSuspended)), Suspend, false, false, v1alpha1.PhaseSuspended, new(gone)},
		"it sleeps, and its spec is bad":   {observed(onDemand, asleep(time.Hour), usedAgo(0), withTier("gold")), Leave, false, true, v1alpha1.PhaseFailed, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.o, now)
			status := p.Status(tt.o, Outcome{Workload: tt.answer}, now)
			if p.Action != tt.action || p.Queued != tt.queued || (status.IdleSince != nil) != tt.asleep || status.Phase != tt.phase {
				t.Errorf("got %s, queued %t, asleep %t, %s; want %s, %t, %t, %s",
					p.Action, p.Queued, status.IdleSince != nil, status.Phase, tt.action, tt.queued, tt.asleep, tt.phase)
			}
			if p.Queued != (p.RequeueAfter > 0) {
				t.Errorf("queued %t, again in %s", p.Queued, p.RequeueAfter)
			}
		})
	}
}

// gone is a Deployment without a pod.
var gone = Workload{Generation: 3, ObservedGeneration: 3}

// TestABridgeSleepsAndWakesStepByStep has each decision see what the one before
// left.
func TestABridgeSleepsAndWakesStepByStep(t *testing.T) {
	o := observed(onDemand, usedAgo(idle))
	last := o.Bridge.Status.LastActivityTime
	starting := Workload{Generation: 4, ObservedGeneration: 4, Replicas: 1, Updated: 1}
	at := now
	for _, step := range []struct {
		name   string
		change func()
		after  *Workload
		phase  v1alpha1.Phase
		asleep bool
		ready  string
		says   string
	}{
		{"it falls asleep", func() {}, &rolled, v1alpha1.PhasePending, true, "False Progressing", "the pod is ending, since the bridge was not used for spec.idleTimeout"},
		{"its pod is gone", func() { o.Pods = nil }, &gone, v1alpha1.PhaseAsleep, true, "True Asleep", "asleep: a call to status.url wakes the bridge"},
		{"an hour passes", func() { at = at.Add(time.Hour) }, &gone, v1alpha1.PhaseAsleep, true, "True Asleep", "asleep: a call"},
		{"it is called while many start", func() { last = new(metav1.NewTime(at)); behind(2)(&o) }, nil, v1alpha1.PhaseWaking, true, "True Asleep", "asleep: a call"},
		{"it is its turn", func() { behind(0)(&o) }, &gone, v1alpha1.PhaseWaking, false, "False Progressing", "the pod is being made"},
		{"its pod starts", func() { o.Pods = []Pod{{Name: "q"}} }, &starting, v1alpha1.PhaseWaking, false, "False Progressing", "pod q is not ready yet"},
		{"its pod is ready", func() { at = at.Add(2 * time.Second); o.Pods[0].Ready = true }, &rolled, v1alpha1.PhaseRunning, false, "True Ready", "calls to status.url reach the bridge"},
		{"it is not time yet", func() { at = at.Add(idle - time.Second) }, &rolled, v1alpha1.PhaseRunning, false, "True Ready", "calls to"},
		{"it falls asleep again", func() { at = at.Add(time.Second) }, &rolled, v1alpha1.PhasePending, true, "False Progressing", "the pod is ending"},
	} {
		step.change()
		o.Bridge.Status.LastActivityTime = last
		status := Decide(o, at).Status(o, Outcome{Workload: step.after}, at)
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if status.Phase != step.phase || (status.IdleSince != nil) != step.asleep || string(ready.Status)+" "+ready.Reason != step.ready || !strings.HasPrefix(ready.Message, step.says) {
			t.Fatalf("%s: %s, asleep %t, %s %s, %q", step.name, status.Phase, status.IdleSince != nil, ready.Status, ready.Reason, ready.Message)
		}
		o.Bridge.Status = status
	}
}

func TestTurnsToWake(t *testing.T) {
	named := func(uid string, change ...func(*Observed)) v1alpha1.HostedBridge {
		o := observed(append([]func(*Observed){onDemand}, change...)...)
		o.Bridge.UID = types.UID(uid)
		return *o.Bridge.HostedBridge
	}
	starts := func(since time.Duration) func(*Observed) {
		return func(o *Observed) {
			o.Bridge.Status.Phase = v1alpha1.PhaseWaking
			o.Bridge.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonProgressing, LastTransitionTime: *ago(since),
			}}
		}
	}
	phase := func(p v1alpha1.Phase) func(*Observed) { return func(o *Observed) { o.Bridge.Status.Phase = p } }
	leaving := func(o *Observed) { deleting(o.Bridge.HostedBridge) }
	mine := named("m", asleep(time.Hour), usedAgo(5*time.Second))
	for name, tt := range map[string]struct {
		other v1alpha1.HostedBridge
		ahead int
	}{
		"itself":                                 {mine, 0},
		"one that starts":                        {named("a", starts(time.Second)), 1},
		"one that has been starting for long":    {named("a", starts(time.Minute)), 0},
		"one that starts by a clock far ahead":   {named("a", starts(-time.Hour)), 0},
		"one that starts by a clock just ahead":  {named("a", starts(-time.Second)), 1},
		"one that starts and is deleted":         {named("a", starts(time.Second), leaving), 0},
		"one that was called earlier":            {named("z", asleep(time.Hour), usedAgo(6*time.Second)), 1},
		"one that was called later":              {named("a", asleep(time.Hour), usedAgo(4*time.Second)), 0},
		"one of the same second, sorting before": {named("a", asleep(time.Hour), usedAgo(5*time.Second)), 1},
		"one of the same second, sorting after":  {named("z", asleep(time.Hour), usedAgo(5*time.Second)), 0},
		"one that waits and is shown as waking":  {named("z", asleep(time.Hour), usedAgo(6*time.Second), phase(v1alpha1.PhaseWaking)), 1},
		"one that is not accepted":               {named("a", asleep(time.Hour), usedAgo(6*time.Second), phase(v1alpha1.PhaseFailed)), 0},
		"one that waits and is deleted":          {named("a", asleep(time.Hour), usedAgo(6*time.Second), leaving), 0},
		"one that runs":                          {named("a", usedAgo(6*time.Second)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ahead(&mine, []v1alpha1.HostedBridge{tt.other}, now); got != tt.ahead {
				t.Errorf("%d wake before, want %d", got, tt.ahead)
			}
		})
	}
}
