// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// defaultIdleTimeout is that of a HostedBridge stored before there was one.
// An hour's work has pauses of some minutes; a pod that ends in each of them
// would have its user wait for each next call.
const defaultIdleTimeout = 15 * time.Minute

// IdleTimeout returns how long the bridge may be unused before it sleeps, and 0
// for one that never does.
func (b *HostedBridge) IdleTimeout() time.Duration {
	switch {
	case b.Spec.DesiredState != StateOnDemand:
		return 0
	case b.Spec.IdleTimeout == nil:
		return defaultIdleTimeout
	default:
		return b.Spec.IdleTimeout.Duration
	}
}

// Asleep reports whether the operator keeps the bridge without a pod because it
// was not used. One that has been woken stays asleep until the operator acts.
func (b *HostedBridge) Asleep() bool {
	return b.Spec.DesiredState == StateOnDemand && b.Status.IdleSince != nil
}

// Woken reports whether the bridge is asleep and has been used since.
func (b *HostedBridge) Woken() bool {
	last := b.Status.LastActivityTime
	return b.Asleep() && last != nil && last.After(b.Status.IdleSince.Time)
}
