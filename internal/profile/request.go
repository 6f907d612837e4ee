// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// IsApproved reports whether a request is approved. One of another name than that of its user
// and server has no effect: two could contradict each other.
func IsApproved(q *v1alpha1.BridgeRequest) bool {
	d := q.Spec.Decision
	return d != nil && d.Verdict == v1alpha1.RequestApproved && q.DeletionTimestamp == nil && q.Name == v1alpha1.RequestName(q.Spec.User, q.Spec.Server)
}

// Approvals are the offers that are approved, by the names of their servers.
type Approvals map[string]string

// Approved returns what is approved for a HostedBridge. A request for an earlier HostedBridge of
// the same user id has no effect.
func Approved(requests []v1alpha1.BridgeRequest, b *v1alpha1.HostedBridge) Approvals {
	approvals := Approvals{}
	for i := range requests {
		q := &requests[i]
		if q.Spec.User == b.User() && q.Spec.BridgeUID == b.UID && IsApproved(q) {
			approvals[q.Spec.Server] = q.Spec.Offer
		}
	}
	return approvals
}

// OffersOnRequest reports whether the profile has servers that users ask for.
func (p Profile) OffersOnRequest() bool {
	return slices.ContainsFunc(p.Spec.Servers, func(s v1alpha1.ProfileServer) bool { return s.Use == v1alpha1.ServerOnRequest })
}
