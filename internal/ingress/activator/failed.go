// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// DropFor is how long a route stays out of use after a failed attempt, unless
// the table offers another pod before. The kubelet reports a dead container
// after about a second; until then the table still says that it is ready, and
// trying twice a second finds the restarted one without hammering it.
const DropFor = 500 * time.Millisecond

// failedPods are the routes that led nowhere, or to somebody else, a moment ago.
type failedPods struct{ marks expiringSet[bridgeclient.Pod] }

func (d *failedPods) add(b route.Backend, now time.Time) {
	d.marks.set(bridgeclient.PodOf(b), now.Add(DropFor), now)
}

func (d *failedPods) has(b route.Backend, now time.Time) bool {
	return d.marks.has(bridgeclient.PodOf(b), now)
}
