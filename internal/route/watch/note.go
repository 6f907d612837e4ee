// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// activityGrain is how exact lastActivityTime is. Writing each call down
// would make the API server the slowest part of every call.
const activityGrain = 5 * time.Minute

// note is what is known of a bridge and may have to be written.
type note struct {
	backend  route.Backend
	calledAt time.Time // Zero: not called.
	health   *health.Report
}

// then returns both notes as one, the later one's word before the earlier's.
func (n note) then(later note) note {
	if later.calledAt.Before(n.calledAt) {
		later.calledAt = n.calledAt
	}
	if later.health == nil {
		later.health = n.health
	}
	return later
}

// changes returns the fields of the status that n says otherwise.
func (n note) changes(have *v1alpha1.HostedBridgeStatus) map[string]any {
	fields := map[string]any{}
	if last := have.LastActivityTime; !n.calledAt.IsZero() && (last == nil || n.calledAt.Sub(last.Time) >= activityGrain) {
		fields["lastActivityTime"] = metav1.NewTime(n.calledAt)
	}
	if n.health == nil {
		return fields
	}
	healthy := 0
	for _, server := range n.health.Servers {
		if server.Status == health.Healthy {
			healthy++
		}
	}
	if servers := fmt.Sprintf("%d/%d", healthy, len(n.health.Servers)); servers != have.Servers {
		fields["servers"] = servers
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
