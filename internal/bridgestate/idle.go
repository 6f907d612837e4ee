// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// catchUp is how long after it began to follow bridges the operator lets
	// none fall asleep. An ingress that could not write for a while reports
	// bridges in use within 30 s; until then they look unused.
	catchUp = time.Minute
	// startLimit is how long a waking bridge counts among those that start. A
	// slower one does not load the cluster by starting: it waits for something,
	// and must not keep others from waking.
	startLimit = time.Minute
	// queueRetry is when a bridge that waits for its turn is checked again if
	// no event comes before. The end of another bridge's startLimit causes no
	// event.
	queueRetry = 15 * time.Second
)

// Waking bounds how many bridges start at once because they were called. New
// and changed bridges do not count: their owners, and not their callers, decide
// their number.
type Waking struct {
	// Limit is how many may; 0 means no limit.
	Limit int
	// Ahead is how many other bridges wake before the observed one.
	Ahead int
}

// full reports that it is not the bridge's turn.
func (w Waking) full() bool { return w.Limit > 0 && w.Ahead >= w.Limit }

// sleep decides about a bridge on demand that runs, or should run. It sleeps
// when it has been ready and unused for its idleTimeout, and not while it
// starts: sleep would hide why a bridge does not become ready.
func (p Plan) sleep(o Observed, now time.Time) Plan {
	if o.Bridge.Spec.DesiredState != v1alpha1.StateOnDemand || p.Action != Run || !o.running() {
		return p
	}
	since := o.idleSince(now)
	end := since.Add(max(o.Bridge.IdleTimeout(), o.MinIdleTimeout))
	if earliest := o.FollowedSince.Add(catchUp); end.Before(earliest) {
		end = earliest
	}
	if now.Before(end) {
		p.RequeueAfter = end.Sub(now)
		return p
	}
	p.Action = Suspend
	p.IdleSince = new(metav1.NewTime(since))
	return p
}

// idleSince returns since when a ready bridge has not been used: since its last
// use, or since it is ready if that is later. The user of a new bridge gets the
// time to call it.
func (o Observed) idleSince(now time.Time) time.Time {
	ready := now
	if c := availability(o.Bridge.HostedBridge); c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonAvailable {
		ready = c.LastTransitionTime.Time
	}
	if last := o.Bridge.Status.LastActivityTime; last != nil && last.After(ready) {
		return last.Time
	}
	return ready
}

func availability(b *v1alpha1.HostedBridge) *metav1.Condition {
	return meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionWorkloadAvailable)
}

// wake decides about a sleeping bridge: it sleeps until it is called, and then
// until it is its turn.
func (p Plan) wake(o Observed) Plan {
	switch {
	case !o.Bridge.Woken():
		p.Action, p.IdleSince = Suspend, o.Bridge.Status.IdleSince
	case o.Waking.full():
		// Nothing is applied: a thousand waiting bridges would load the API
		// server and delay those whose turn it is.
		p.Action, p.IdleSince = Leave, o.Bridge.Status.IdleSince
		p.Queued, p.RequeueAfter = true, queueRetry
	}
	return p
}

// Starting reports whether b's pod is starting because b was called.
func Starting(b *v1alpha1.HostedBridge, now time.Time) bool {
	if b.Status.Phase != v1alpha1.PhaseWaking || b.Status.IdleSince != nil || b.DeletionTimestamp != nil {
		return false
	}
	c := availability(b)
	// A time further ahead is of another operator, whose clock was wrong.
	return c == nil || c.Status != metav1.ConditionTrue && now.Sub(c.LastTransitionTime.Time).Abs() < startLimit
}

// InQueue reports whether b was called while it slept and its pod has not been
// requested yet. A bridge that is not accepted waits for its spec, and not in a
// queue.
func InQueue(b *v1alpha1.HostedBridge) bool {
	return effective.Woken(b) && b.Status.Phase != v1alpha1.PhaseFailed && b.DeletionTimestamp == nil
}

// Ahead returns how many of the bridges wake before b: those that start, and
// those that have waited longer. A bridge that is both counts once, so a late
// cache never lets too many start.
func Ahead(b *v1alpha1.HostedBridge, waking []v1alpha1.HostedBridge, now time.Time) int {
	n := 0
	for i := range waking {
		other := &waking[i]
		if other.UID != b.UID && (Starting(other, now) || InQueue(other) && CompareTurns(other, b) < 0) {
			n++
		}
	}
	return n
}

// CompareTurns orders bridges of the queue by when they were called. The order never
// changes, also not with the clock: otherwise a late cache would let too many start.
func CompareTurns(a, b *v1alpha1.HostedBridge) int {
	return cmp.Or(a.Status.LastActivityTime.Compare(b.Status.LastActivityTime.Time), cmp.Compare(a.UID, b.UID))
}
