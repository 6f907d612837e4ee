// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// dropFor is how long a route stays out of use after a failed attempt, unless
// the table offers another pod before. The kubelet reports a dead container
// after about a second; until then the table still says that it is ready, and
// trying twice a second finds the restarted one without hammering it.
const dropFor = 500 * time.Millisecond

// destination is what a route leads to: a pod that moved to another address
// is another destination.
type destination struct {
	bridge, pod types.UID
	ip          string
}

func destinationOf(b route.Backend) destination {
	return destination{bridge: b.BridgeUID, pod: b.PodUID, ip: b.PodIP}
}

// dropped are the routes that led nowhere, or to somebody else, a moment ago.
type dropped struct{ marks marks[destination] }

func (d *dropped) add(b route.Backend, now time.Time) {
	d.marks.set(destinationOf(b), now.Add(dropFor), now)
}

func (d *dropped) has(b route.Backend, now time.Time) bool {
	return d.marks.has(destinationOf(b), now)
}
