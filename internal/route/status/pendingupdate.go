// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// activityInterval is the least time between two writes of lastActivityTime.
	// A write for each call would make the API server the slowest part of it.
	activityInterval = 5 * time.Minute
	// writesPerIdleTimeout is how often lastActivityTime of a bridge in use is
	// written within its idleTimeout, at least.
	writesPerIdleTimeout = 4
)

// pendingUpdate is what may have to be written into one bridge's status.
type pendingUpdate struct {
	backend  route.Backend
	calledAt time.Time // Zero: not called.
	health   *health.Report
	keys     map[string]time.Time // when keys were used, by id
	// next is when calledAt is to be written, if there is nothing else.
	next time.Time
	// failures is how often in a row it could not be written, and notBefore when
	// that is tried again.
	failures  int
	notBefore time.Time
	// last means that it cannot be written later.
	last bool
}

// afterFailure returns n after a write that failed: each failure doubles the
// pause before the next try.
func (n pendingUpdate) afterFailure(now time.Time) pendingUpdate {
	pause := min(flushEvery<<min(n.failures, 16), flushAtMost)
	n.failures++
	n.notBefore = now.Add(pause)
	return n
}

// activityInterval returns how long lastActivityTime may be late.
func (n pendingUpdate) activityInterval() time.Duration {
	if n.backend.IdleTimeout == 0 {
		return activityInterval
	}
	return max(min(activityInterval, n.backend.IdleTimeout/writesPerIdleTimeout), time.Second)
}

// due reports whether there may be something to write by now.
func (n pendingUpdate) due(now time.Time) bool {
	return !now.Before(n.notBefore) && (n.health != nil || n.keys != nil || !now.Before(n.next))
}

// merge returns both notes as one, the later one's word before the earlier's.
func (n pendingUpdate) merge(later pendingUpdate) pendingUpdate {
	if later.calledAt.Before(n.calledAt) {
		later.calledAt = n.calledAt
	}
	if later.health == nil {
		later.health = n.health
	}
	later.keys = mergeKeyUses(n.keys, later.keys)
	if later.next.IsZero() {
		later.next = n.next
	}
	if later.failures < n.failures {
		later.failures, later.notBefore = n.failures, n.notBefore
	}
	return later
}

// activity returns whether the last use is to be written now, and else when, if
// ever. One that the operator had not heard of is written at once. A time that lies
// ahead by more than clocks differ is replaced: until then no use would be written,
// and the bridge would not sleep. One that woke the bridge stays until it has woken.
func (n pendingUpdate) activity(have *v1alpha1.HostedBridgeStatus, now time.Time) (write bool, next time.Time) {
	last := have.LastActivityTime
	if last != nil && have.IdleSince == nil && last.Sub(now) > activityInterval {
		return true, time.Time{}
	}
	if n.calledAt.IsZero() || last != nil && !n.calledAt.Truncate(time.Second).After(last.Time) {
		return false, time.Time{} // The status has whole seconds.
	}
	if last == nil || n.last || now.Sub(last.Time) >= n.activityInterval() || have.IdleSince != nil {
		return true, time.Time{}
	}
	return false, last.Add(n.activityInterval())
}

// changes returns the fields of the status that n says otherwise and that are to
// be written now, and what is to be noted for later.
func (n pendingUpdate) changes(b *effective.Bridge, now time.Time) (fields map[string]any, later *pendingUpdate) {
	fields = map[string]any{}
	have := &b.Status
	if write, next := n.activity(have, now); write {
		at := n.calledAt
		if at.IsZero() {
			at = now // In place of a time that lies ahead.
		}
		fields["lastActivityTime"] = metav1.NewTime(at)
	} else if !next.IsZero() {
		later = &pendingUpdate{backend: n.backend, calledAt: n.calledAt, next: next}
	}
	return fields, later
}

// reported returns the fields of the status that the bridge's report says otherwise.
func (n pendingUpdate) reported(b *effective.Bridge, now time.Time) map[string]any {
	fields := map[string]any{}
	if n.health == nil {
		return fields
	}
	have := &b.Status
	healthy := 0
	for _, server := range n.health.Servers {
		if server.Status == health.Healthy {
			healthy++
		}
	}
	if servers := fmt.Sprintf("%d/%d", healthy, len(n.health.Servers)); servers != have.Servers {
		fields["servers"] = servers
	}
	if states := serverStates(b, n.health, now); !equality.Semantic.DeepEqual(states, have.ServerStates) {
		fields["serverStates"] = states
	}
	if names := collisions(n.health.Renamed); !slices.Equal(names, have.Collisions) {
		fields["collisions"] = names // None is null, which removes the field.
	}
	// A bridge's word: bounded to what the field takes.
	if tools := int32(max(0, min(n.health.Tools, 1<<30))); have.Tools == nil || *have.Tools != tools {
		fields["tools"] = tools
	}
	return fields
}
