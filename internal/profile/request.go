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

// Approved returns the servers for which requests of a user are approved.
func Approved(requests []v1alpha1.BridgeRequest, user v1alpha1.UserID) []string {
	var servers []string
	for i := range requests {
		if q := &requests[i]; q.Spec.User == user && IsApproved(q) {
			servers = append(servers, q.Spec.Server)
		}
	}
	return servers
}

// OffersOnRequest reports whether the profile has servers that users ask for.
func (p Profile) OffersOnRequest() bool {
	return slices.ContainsFunc(p.Spec.Servers, func(s v1alpha1.ProfileServer) bool { return s.Use == v1alpha1.ServerOnRequest })
}
