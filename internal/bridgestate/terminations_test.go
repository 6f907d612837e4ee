// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// ended adds ends of the process to the status, each of which had noted the
// server.
func ended(server string, times ...time.Duration) func(*Observed) {
	return func(o *Observed) {
		for _, d := range times {
			o.Bridge.Status.Terminations = append(o.Bridge.Status.Terminations, v1alpha1.Termination{Time: *ago(d), Reason: "OOMKilled", Server: server})
		}
		slices.SortStableFunc(o.Bridge.Status.Terminations, func(a, b v1alpha1.Termination) int { return a.Time.Compare(b.Time.Time) })
	}
}

// outage has the server be out of service for the given time more, or have been
// if that is negative.
func outage(server string, left time.Duration, times int32) func(*Observed) {
	return func(o *Observed) {
		s := Servers(o.Bridge)[slices.IndexFunc(Servers(o.Bridge), func(s Server) bool { return s.Name == server })]
		o.Bridge.Status.Outages = append(o.Bridge.Status.Outages, v1alpha1.ServerOutage{
			Server: server, Until: *ago(-left), Times: times, Message: "as it was said", Configuration: configurationOf(s, o.Bridge.Spec.Resources),
		})
	}
}

func without(server string) func(*Observed) {
	return func(o *Observed) {
		o.Bridge.Spec.Servers = slices.DeleteFunc(o.Bridge.Spec.Servers, func(s effective.Server) bool { return s.Name == server })
	}
}

func moved(o *Observed) { o.Bridge.Spec.Servers[0].Transport.URL = "https://other.example.com/mcp" }

func withMemory(o *Observed) {
	o.Bridge.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}}
}

func TestAServerThatEndsTheProcessIsOutOfServiceForATime(t *testing.T) {
	const m, s = time.Minute, time.Second
	type state struct {
		Left  time.Duration // how long the server is still out of service, 0 if it is not
		Times int32
	}
	tests := map[string]struct {
		change []func(*Observed)
		want   map[string]state
	}{
		"no end":                         {nil, nil},
		"one":                            {[]func(*Observed){ended("s0", m)}, nil},
		"two":                            {[]func(*Observed){ended("s0", 3*s, s)}, nil},
		"three":                          {[]func(*Observed){ended("s0", 5*s, 3*s, s)}, map[string]state{"s0": {5 * m, 1}}},
		"three within ten minutes":       {[]func(*Observed){ended("s0", 9*m, 5*m, s)}, map[string]state{"s0": {5 * m, 1}}},
		"three in a longer time":         {[]func(*Observed){ended("s0", 11*m, 5*m, s)}, nil},
		"three, none of them lately":     {[]func(*Observed){ended("s0", 32*m, 31*m, 30*m)}, nil},
		"three with several servers":     {[]func(*Observed){ended("s0", 5*s, 3*s), ended("s1", s)}, nil},
		"three with no server noted":     {[]func(*Observed){ended("", 5*s, 3*s, s)}, nil},
		"three each":                     {[]func(*Observed){ended("s0", 9*s, 7*s, 5*s), ended("s1", 8*s, 6*s, 4*s)}, map[string]state{"s0": {5 * m, 1}, "s1": {5 * m, 1}}},
		"three with a removed server":    {[]func(*Observed){ended("s0", 5*s, 3*s, s), without("s0")}, nil},
		"three, by a clock that is fast": {[]func(*Observed){ended("s0", 5*s, 3*s, -7*s)}, map[string]state{"s0": {5*m + 7*s, 1}}},

		"out of service":                            {[]func(*Observed){outage("s0", m, 1)}, map[string]state{"s0": {m, 1}}},
		"out of service, and an end meanwhile":      {[]func(*Observed){outage("s0", m, 1), ended("s0", 5*s, 3*s, s)}, map[string]state{"s0": {m, 1}}},
		"back in service":                           {[]func(*Observed){outage("s0", 0, 1)}, map[string]state{"s0": {0, 1}}},
		"back in service, and the ends of before":   {[]func(*Observed){outage("s0", -m, 1), ended("s0", 7*m, 6*m, 5*m)}, map[string]state{"s0": {0, 1}}},
		"back in service, and an end":               {[]func(*Observed){outage("s0", -m, 1), ended("s0", s)}, map[string]state{"s0": {10 * m, 2}}},
		"back in service, and another's end":        {[]func(*Observed){outage("s0", -m, 1), ended("s1", s)}, map[string]state{"s0": {0, 1}}},
		"back for the fourth time, and an end":      {[]func(*Observed){outage("s0", -m, 4), ended("s0", s)}, map[string]state{"s0": {time.Hour, 5}}},
		"back for the millionth time, and an end":   {[]func(*Observed){outage("s0", -m, 1000000), ended("s0", s)}, map[string]state{"s0": {time.Hour, 1000001}}},
		"back in service for an hour":               {[]func(*Observed){outage("s0", -time.Hour, 1)}, nil},
		"out of service and changed":                {[]func(*Observed){outage("s0", m, 3), ended("s0", 5*s, 3*s, s), moved}, map[string]state{"s0": {0, 0}}},
		"out of service, and the bridge has memory": {[]func(*Observed){outage("s0", m, 3), ended("s0", 5*s, 3*s, s), withMemory}, map[string]state{"s0": {0, 0}}},
		"out of service and removed":                {[]func(*Observed){outage("s0", m, 3), ended("s0", 5*s, 3*s, s), without("s0")}, nil},
		"changed, and two ends":                     {[]func(*Observed){outage("s0", -5*s, 0), ended("s0", 9*s, 7*s, 3*s, s)}, map[string]state{"s0": {0, 0}}},
		"changed, and three ends":                   {[]func(*Observed){outage("s0", -7*s, 0), ended("s0", 9*s, 5*s, 3*s, s)}, map[string]state{"s0": {5 * m, 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(append([]func(*Observed){withServers(2)}, tt.change...)...)
			before := o.Bridge.DeepCopy()
			got := o.AfterTerminations(now)
			if diff := cmp.Diff(before, o.Bridge.HostedBridge); diff != "" {
				t.Errorf("the bridge that was observed is changed:\n%s", diff)
			}
			var states map[string]state
			for _, outage := range got.Bridge.Status.Outages {
				if states == nil {
					states = map[string]state{}
				}
				was := state{Times: outage.Times}
				if outage.Message != "" {
					was.Left = outage.Until.Sub(now)
				}
				states[outage.Server] = was
			}
			if diff := cmp.Diff(tt.want, states); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := got.AfterTerminations(now); !SameTerminations(&again.Bridge.Status, &got.Bridge.Status) {
				t.Errorf("decided again, it comes to something else: %+v after %+v", again.Bridge.Status.Outages, got.Bridge.Status.Outages)
			}
			for _, server := range Configuration(got.Bridge, bridgeconfig.Egress{}, "").Servers {
				if out := states[server.Name].Left > 0; (server.Fault != "") != out {
					t.Errorf("the bridge is told of server %s: %q", server.Name, server.Fault)
				}
			}
		})
	}
}

// TestEndsThatPodsReportAreCountedOnce has the API server's objects come late
// and more than once.
func TestEndsThatPodsReportAreCountedOnce(t *testing.T) {
	at := func(d time.Duration, server string) Termination {
		return Termination{Time: now.Add(-d).Truncate(time.Second), Reason: "Error", Server: server}
	}
	const s = time.Second
	tests := map[string]struct {
		change func(*Observed)
		want   []time.Duration
	}{
		"none":                        {func(*Observed) {}, nil},
		"a pod's two":                 {withPods(Pod{Terminated: at(s, ""), TerminatedBefore: at(9*s, "")}), []time.Duration{9 * s, s}},
		"two pods'":                   {withPods(Pod{Terminated: at(s, "")}, Pod{Terminated: at(5*s, "")}), []time.Duration{5 * s, s}},
		"one that is in the status":   {func(o *Observed) { ended("", 5*s)(o); withPods(Pod{Terminated: at(5*s, "")})(o) }, []time.Duration{5 * s}},
		"one of an hour ago":          {func(o *Observed) { ended("", time.Hour)(o); withPods(Pod{Terminated: at(2*time.Hour, "")})(o) }, nil},
		"that of a pod that is ended": {withPods(Pod{Terminated: at(s, ""), Deleting: true}), nil},
		"more than a status holds": {
			ended("", 10*s, 9*s, 8*s, 7*s, 6*s, 5*s, 4*s, 3*s, 2*s, s), []time.Duration{8 * s, 7 * s, 6 * s, 5 * s, 4 * s, 3 * s, 2 * s, s},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(withServers(1), tt.change)
			var got []time.Duration
			for _, e := range o.AfterTerminations(now).Bridge.Status.Terminations {
				got = append(got, now.Sub(e.Time.Time))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	o := observed(withServers(1), withPods(Pod{Terminated: at(s, "s0"), TerminatedBefore: at(5*s, "somebody else's")})).AfterTerminations(now)
	if ends := o.Bridge.Status.Terminations; ends[0].Server != "" || ends[1].Server != "s0" {
		t.Errorf("a pod's word for a server that the bridge does not have is believed: %+v", ends)
	}
}

func TestAPodThatWaitsToStartItsBridgeAgainIsReplaced(t *testing.T) {
	const m, s = time.Minute, time.Second
	down := Pod{Name: "p", UID: "1", Created: now, Down: true}
	starts := Pod{Name: "p", UID: "1", Created: now}
	gone := Pod{Name: "p", UID: "1", Created: now, Down: true, Deleting: true}
	next := Pod{Name: "q", UID: "2", Created: now.Add(s)}
	tests := map[string]struct {
		change []func(*Observed)
		want   bool
	}{
		"the second end within a minute":             {[]func(*Observed){withPods(down), ended("", m, s)}, true},
		"and at the sixth":                           {[]func(*Observed){withPods(down), ended("", 25*s, 20*s, 15*s, 10*s, 5*s, s)}, true},
		"not at the seventh, which helps no more":    {[]func(*Observed){withPods(down), ended("", 30*s, 25*s, 20*s, 15*s, 10*s, 5*s, s)}, false},
		"nor at the eighth with a server in service": {[]func(*Observed){withServers(1), withPods(down), ended("s0", 3000*s, 2900*s, 2800*s, 2700*s, 2600*s, 2500*s, 5*s, s)}, false},
		"but at the eighth once the server is out of service": {
			[]func(*Observed){withServers(1), withPods(down), outage("s0", m, 1), ended("s0", 30*s, 25*s, 20*s, 15*s, 10*s, 5*s, 3*s, s)}, true,
		},
		"and where the former server was another": {
			[]func(*Observed){withServers(1), withPods(down), outage("s0", -7*s, 0), ended("s0", 30*s, 25*s, 20*s, 15*s, 10*s, 8*s, 3*s, s)}, true,
		},
		"not where the kubelet has forgotten the last": {[]func(*Observed){withPods(down), ended("", 11*m, s)}, false},
		"not while the kubelet starts it at once":      {[]func(*Observed){withPods(starts), ended("", m, s)}, false},
		"not a pod that is going":                      {[]func(*Observed){withPods(gone), ended("", m, s)}, false},
		"not once another is there":                    {[]func(*Observed){withPods(down, next), ended("", m, s)}, false},
		"not that of a suspended bridge":               {[]func(*Observed){withPods(down), ended("", m, s), withState(v1alpha1.StateSuspended)}, false},
		"not for a spec that is not accepted":          {[]func(*Observed){withPods(down), ended("", m, s), withTier("gold")}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(observed(tt.change...).AfterTerminations(now), now)
			if got := p.Replace != nil; got != tt.want {
				t.Errorf("replaced: %t", got)
			}
			if p.Replace != nil && p.Replace.UID != "1" {
				t.Errorf("the pod %s is replaced", p.Replace.Name)
			}
		})
	}
}

func TestTheStatusSaysWhichServersAreOutOfService(t *testing.T) {
	const m, s = time.Minute, time.Second
	ready := withPods(Pod{Name: "p", Ready: true})
	tests := map[string]struct {
		change          []func(*Observed)
		reason, message string
		ready           string // what Ready says of it
		after           time.Duration
	}{
		"a bridge that lasts":        {nil, "", "", "", 0},
		"a bridge that ended twice":  {[]func(*Observed){ended("s0", 5*s, 3*s)}, "", "", "", time.Hour - 5*s},
		"three times for no reason":  {[]func(*Observed){ended("", 5*s, 3*s, s)}, "TerminatedRepeatedly", "ended 3 times within an hour, the last time at 2026-01-02T03:04:04Z (OOMKilled)", "", time.Hour - 5*s},
		"three times, not one cause": {[]func(*Observed){ended("s0", 5*s), ended("s1", 3*s, s)}, "TerminatedRepeatedly", "(OOMKilled) while it handled server s1", "", time.Hour - 5*s},
		"ever again":                 {[]func(*Observed){ended("", 9*s, 8*s, 7*s, 6*s, 5*s, 4*s, 3*s, s)}, "TerminatedRepeatedly", "8 or more times within an hour", "", time.Hour - 9*s},
		"for a server": {
			[]func(*Observed){ended("s0", 5*s, 3*s, s)}, "ServersOutOfService",
			"server s0: the bridge's process ended 3 times within 10 minutes while it handled this server (OOMKilled), so the server is out of service until 2026-01-02T03:09:05Z",
			"server s0 (until 2026-01-02T03:09:05Z)", 5 * m,
		},
		"for a server, again": {
			[]func(*Observed){outage("s0", -m, 1), ended("s0", s)}, "ServersOutOfService",
			"ended again while it handled this server (OOMKilled), so the server is out of service until 2026-01-02T03:14:05Z", "server s0", 10 * m,
		},
		"back in service": {[]func(*Observed){outage("s0", -m, 1)}, "", "", "", 59 * m},
		"a configuration that is not applied keeps the servers": {
			[]func(*Observed){ended("s0", 5*s, 3*s, s), withoutKeybroker}, "TerminatedRepeatedly", "ended 3 times", "", 5 * m,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(append([]func(*Observed){withServers(2), withState(v1alpha1.StateRunning), ready}, tt.change...)...).AfterTerminations(now)
			p := Decide(o, now)
			if p.RequeueAfter != tt.after {
				t.Errorf("decided again after %s, want %s", p.RequeueAfter, tt.after)
			}
			status := p.Status(o, Outcome{Workload: &rolled}, now)
			stable := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStable)
			if tt.reason == "" {
				if stable != nil {
					t.Errorf("the condition is %+v", stable)
				}
			} else if stable == nil || stable.Status != metav1.ConditionFalse || stable.Reason != tt.reason || !strings.Contains(stable.Message, tt.message) {
				t.Errorf("the condition is %+v, want %s with %q", stable, tt.reason, tt.message)
			}
			said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			if said.Status != metav1.ConditionTrue || strings.Contains(said.Message, "process ended") != (tt.ready != "") || !strings.Contains(said.Message, tt.ready) {
				t.Errorf("Ready says %+v", said)
			}
		})
	}
}
