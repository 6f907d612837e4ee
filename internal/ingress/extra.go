// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"hash/maphash"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// toldPerCall is of how many calls a bridge may tell for each that a request
	// has: the router's tool makes several of one.
	toldPerCall = 64
	// extraBurst and extraEvery bound what a bridge tells beyond that, as on the
	// stream of a session: more calls than the largest of the default tiers may
	// make over a minute.
	extraBurst = 100
	extraEvery = time.Second / 10
)

// extra bounds the entries that a user's bridge can have written without a
// request that asked for them: a bridge is its tenant's, and each entry is paid
// by all.
type extra struct {
	seed    maphash.Seed
	users   limiter
	ignored prometheus.Counter
}

func newExtra() *extra {
	return &extra{
		seed: maphash.MakeSeed(), users: limiter{burst: extraBurst, every: extraEvery},
		ignored: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_audit_told_ignored_total",
			Help: "Calls that bridges told of and that got no entry, because they were more than had been asked for.",
		}),
	}
}

// take reports whether another entry of the user may be written.
func (x *extra) take(user string, now time.Time) bool {
	if x.users.take(maphash.String(x.seed, user), now) > 0 {
		x.ignored.Inc()
		return false
	}
	return true
}
