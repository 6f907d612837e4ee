// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// defaultIdleTimeout is that of a HostedBridge stored before there was one.
// An hour's work has pauses of some minutes; a pod that ends in each of them
// would have its user wait for each next call.
const defaultIdleTimeout = 15 * time.Minute

// State returns the state that the bridge is to have: its own, or suspended if status.access
// is set.
func State(b *v1alpha1.HostedBridge) v1alpha1.DesiredState {
	if b.Status.Access != nil {
		return v1alpha1.StateSuspended
	}
	return b.Spec.DesiredState
}

// Asleep reports whether the operator keeps the bridge without a pod because it
// was not used. One that has been woken stays asleep until the operator acts.
func (b *Bridge) Asleep() bool {
	return b.Spec.DesiredState == v1alpha1.StateOnDemand && b.Status.IdleSince != nil
}

// Woken reports whether the bridge is asleep and has been used since.
func (b *Bridge) Woken() bool {
	last := b.Status.LastActivityTime
	return b.Asleep() && last != nil && last.After(b.Status.IdleSince.Time)
}

// Woken is Bridge.Woken for a stored bridge, without what else its spec in effect has.
func Woken(b *v1alpha1.HostedBridge) bool {
	in := Bridge{HostedBridge: b}
	in.Spec.DesiredState = State(b)
	return in.Woken()
}

// WakeTime returns the lastActivityTime that wakes a bridge which is asleep: now, or a second after
// the bridge fell asleep if the clock that wrote that is ahead of this one.
func (b *Bridge) WakeTime(now time.Time) time.Time {
	if earliest := b.Status.IdleSince.Add(time.Second); now.Before(earliest) {
		return earliest
	}
	return now
}

// IdleTimeout returns how long the bridge may be unused before it sleeps, and 0
// for one that never does.
func (b *Bridge) IdleTimeout() time.Duration {
	switch {
	case b.Spec.DesiredState != v1alpha1.StateOnDemand:
		return 0
	case b.Spec.IdleTimeout == nil:
		return defaultIdleTimeout
	default:
		return b.Spec.IdleTimeout.Duration
	}
}
