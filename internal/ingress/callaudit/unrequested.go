// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"hash/maphash"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// ToldPerCall is of how many calls a bridge may tell for each that a request
	// has: the router's tool makes several of one.
	ToldPerCall = 64
	// UnrequestedBurst and UnrequestedEvery bound what a bridge tells beyond that, as on the
	// stream of a session: more calls than the largest of the default tiers may
	// make over a minute.
	UnrequestedBurst = 100
	// UnrequestedEvery is how often one more may come.
	UnrequestedEvery = time.Second / 10
)

// unrequested bounds the entries that a user's bridge can have written without a
// request that asked for them: a bridge is its tenant's, and each entry is paid
// by all.
type unrequested struct {
	seed    maphash.Seed
	users   limits.Rate
	ignored prometheus.Counter
}

func newUnrequested() *unrequested {
	return &unrequested{
		seed: maphash.MakeSeed(), users: limits.Rate{Burst: UnrequestedBurst, Every: UnrequestedEvery},
		ignored: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_audit_told_ignored_total",
			Help: "Calls that bridges told of and that got no entry, because they were more than had been asked for.",
		}),
	}
}

// take reports whether another entry of the user may be written.
func (x *unrequested) take(user string, now time.Time) bool {
	if x.users.Take(maphash.String(x.seed, user), now) > 0 {
		x.ignored.Inc()
		return false
	}
	return true
}
