// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// remembered is how long an end of the bridge's process counts.
	remembered = time.Hour
	// mostTerminations is how many ends a status lists.
	mostTerminations = 8
	// mostReplaced is after how many ends without a remedy the kubelet's
	// back-off decides again when the process starts: then replacing pods is of
	// no use, and a bridge that can never start must not make a pod every few
	// seconds. It is less than a status lists.
	mostReplaced = 6
	// kubeletForgets is how long after an end the kubelet starts a container
	// at once again: twice its longest back-off.
	kubeletForgets = 10 * time.Minute
	// repeated ends are what a condition reports and, if they are within
	// repeatedWithin and with the same server, what takes the server out of
	// service. Two can have a cause outside of the bridge.
	repeated       = 3
	repeatedWithin = 10 * time.Minute
)

// Termination is one end of the bridge's process that its pod reports.
type Termination struct {
	Time time.Time
	// Reason is the kubelet's, such as OOMKilled.
	Reason string
	// Server is the server that the process had noted as the likely cause.
	Server string
}

// AfterTerminations returns o with the status of the bridge as it is after the
// ends of its process that the pods report: those ends, and the servers that
// are out of service because of them. Other decisions build on it.
func (o Observed) AfterTerminations(now time.Time) Observed {
	ends := o.ends(now)
	outages := o.outagesAfter(ends, now)
	if len(ends)+len(outages)+len(o.Before.Terminations)+len(o.Before.Outages) == 0 {
		return o
	}
	status := o.Bridge.Status
	status.Terminations, status.Outages = ends, outages
	o.Bridge = o.Bridge.WithStatus(status)
	return o
}

// ends returns the ends of the process that still count, the oldest first. A
// pod reports its last two, and those of pods that are gone are in the status.
// The ends of a pod that was told to end are no fault.
func (o Observed) ends(now time.Time) []v1alpha1.Termination {
	ends := slices.Clone(o.Bridge.Status.Terminations)
	for _, pod := range o.Pods {
		if pod.Deleting {
			continue
		}
		for _, t := range []Termination{pod.TerminatedBefore, pod.Terminated} {
			listed := func(e v1alpha1.Termination) bool { return e.Time.Unix() == t.Time.Unix() }
			if t != (Termination{}) && !slices.ContainsFunc(ends, listed) {
				ends = append(ends, v1alpha1.Termination{Time: metav1.NewTime(t.Time), Reason: t.Reason, Server: o.configured(t.Server)})
			}
		}
	}
	ends = slices.DeleteFunc(ends, func(e v1alpha1.Termination) bool { return now.Sub(e.Time.Time) >= remembered })
	slices.SortStableFunc(ends, func(a, b v1alpha1.Termination) int { return a.Time.Compare(b.Time.Time) })
	return ends[max(0, len(ends)-mostTerminations):]
}

// configured returns the name if it is that of one of the bridge's servers. A
// pod's report is no more to be trusted than the bridge in it.
func (o Observed) configured(name string) string {
	if o.Bridge.Has(name) {
		return name
	}
	return ""
}

// down returns the pod that has to be replaced, nil if none has: its bridge has
// ended for the second time in a short while, and the kubelet would let it wait
// before it is started again. A new pod has no such back-off.
func (o Observed) down() *Pod {
	current, ends := o.current(), o.Bridge.Status.Terminations
	if current == nil || !current.Down || len(ends) < 2 || o.unremedied() > mostReplaced {
		return nil
	}
	if last, before := ends[len(ends)-1], ends[len(ends)-2]; last.Time.Sub(before.Time.Time) >= kubeletForgets {
		return nil
	}
	return current
}

// unremedied returns how many ends there were without those of servers that
// were taken out of service, or changed, since then.
func (o Observed) unremedied() int {
	n := 0
	for _, e := range o.Bridge.Status.Terminations {
		remedied := func(outage v1alpha1.ServerOutage) bool {
			return outage.Server == e.Server && !e.Time.After(outage.Until.Time)
		}
		if !slices.ContainsFunc(o.Bridge.Status.Outages, remedied) {
			n++
		}
	}
	return n
}

// forgets returns when the status changes although no event comes, because an
// end or an outage is over; zero means never.
func (o Observed) forgets(now time.Time) time.Duration {
	var next time.Duration
	for _, e := range o.Bridge.Status.Terminations {
		next = sooner(next, e.Time.Add(remembered).Sub(now))
	}
	for _, outage := range o.Bridge.Status.Outages {
		end := outage.Until.Time
		if outage.Message == "" {
			end = end.Add(remembered)
		}
		next = sooner(next, end.Sub(now))
	}
	return next
}

// sooner returns the shorter of two times to wait. Zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// stable returns the condition of a bridge whose process ended repeatedly, and
// false for any other bridge.
func stable(o Observed, p Plan) (metav1.Condition, bool) {
	ends := o.Bridge.Status.Terminations
	switch out := p.out(o); {
	case len(out) > 0:
		say := func(s v1alpha1.ServerOutage) string { return "server " + s.Server + ": " + s.Message }
		return isFalse(v1alpha1.ConditionStable, Finding{v1alpha1.ReasonServersOutOfService, enumerate(out, "; ", say)}), true
	case len(ends) >= repeated:
		return isFalse(v1alpha1.ConditionStable, Finding{v1alpha1.ReasonTerminatedRepeatedly, o.terminated()}), true
	default:
		return metav1.Condition{}, false
	}
}

// terminated says how often and why the process ended.
func (o Observed) terminated() string {
	ends := o.Bridge.Status.Terminations
	last := ends[len(ends)-1]
	number := fmt.Sprint(len(ends))
	if len(ends) == mostTerminations {
		number += " or more"
	}
	message := fmt.Sprintf("the bridge's process ended %s times within an hour, the last time at %s", number, timeOf(last.Time.Time))
	if last.Reason != "" {
		message += " (" + last.Reason + ")"
	}
	if last.Server != "" {
		message += " while it handled server " + last.Server
	}
	if o.unremedied() > mostReplaced {
		message += "; the pod is not replaced any more, so each start waits for the kubelet's back-off"
	}
	return message
}

func timeOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }
