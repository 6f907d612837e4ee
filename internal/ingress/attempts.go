// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// The limits of failed attempts. A key has 130 random bits, which nobody
// guesses at any rate: they are for the noise, and against who tries ids.
// Requests that present no key are no attempts, since clients find out in that
// way that one is needed.
const (
	// sourceBurst and sourceEvery let an office behind one address with several
	// misconfigured clients be told 401, and not 429, a minute long.
	sourceBurst = 60
	sourceEvery = time.Second
	// idBurst and idEvery are for one key's id, from wherever: somebody who
	// pastes a key needs a few attempts, and each is several requests of a client
	// that tries one version of the protocol after the other.
	idBurst = 30
	idEvery = 2 * time.Second
	// attemptCells is how many sources, and how many ids, are told apart: 128
	// KiB each. Two that share a cell share its limit.
	attemptCells = 1 << 14
)

// attempts limits what is told to those who present keys that open nothing. It
// never looks at a request whose key is right, so that no number of failures
// keeps a key's owner out. Its memory is fixed.
type attempts struct {
	seed    maphash.Seed
	sources limiter
	ids     limiter
	refused *prometheus.CounterVec
}

func newAttempts(reg prometheus.Registerer) (*attempts, error) {
	a := &attempts{
		seed:    maphash.MakeSeed(),
		sources: limiter{burst: sourceBurst, every: sourceEvery},
		ids:     limiter{burst: idBurst, every: idEvery},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_failed_attempts_total",
			Help: "Requests with a key that opens nothing, by how they were answered: unauthorized, or limited when there were too many from that address or of that key id.",
		}, []string{"answer"}),
	}
	telemetry.Begin(a.refused, "limited", "unauthorized")
	return a, telemetry.Register(reg, a.refused)
}

// failed counts a failed attempt and returns how long its sender should wait
// before the next one, 0 if there were not too many. id is that of the key, as
// presented: whether there is such a key makes no difference.
func (a *attempts) failed(source netip.Addr, id string, now time.Time) time.Duration {
	wait := a.sources.take(maphash.Comparable(a.seed, sourceNetwork(source)), now)
	if id != "" {
		wait = max(wait, a.ids.take(maphash.String(a.seed, id), now))
	}
	if wait > 0 {
		a.refused.WithLabelValues("limited").Inc()
	} else {
		a.refused.WithLabelValues("unauthorized").Inc()
	}
	return wait
}

// sourceNetwork returns what one sender can hardly leave: an IPv4 address, or the
// /64 of an IPv6 address, which is what a single machine is given.
func sourceNetwork(a netip.Addr) netip.Addr {
	if !a.Is6() || a.Is4In6() {
		return a.Unmap()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// limiter lets burst events pass at once and then one in every, for each cell:
// the generic cell rate algorithm, whose state is one instant.
type limiter struct {
	burst int64
	every time.Duration
	cells [attemptCells]atomic.Int64 // Unix nanoseconds until which a cell is used up.
}

// take counts an event of the cell that h belongs to. What it returns is 0 if
// the event may pass, and else the time until the next one may. Those that may
// not pass do not count, so that the limit is a rate and no ban.
func (l *limiter) take(h uint64, now time.Time) time.Duration {
	cell := &l.cells[h%attemptCells]
	n := now.UnixNano()
	for {
		used := cell.Load()
		next := max(used, n) + int64(l.every)
		if wait := next - n - l.burst*int64(l.every); wait > 0 {
			return time.Duration(wait)
		}
		if cell.CompareAndSwap(used, next) {
			return 0
		}
	}
}

// refuseAttempt answers a request whose key opens nothing.
func (s *Server) refuseAttempt(r *http.Request, presented, id string) error {
	if presented == "" {
		return errUnauthorized
	}
	wait := s.attempts.failed(s.source(r), id, time.Now())
	if wait == 0 {
		return errUnauthorized
	}
	return errTooManyAttempts.after(wait)
}

// after returns p with another time to wait, in whole seconds rounded up.
func (p *problem) after(wait time.Duration) *problem {
	later := *p
	later.retryAfter = roundUp(wait, time.Second)
	return &later
}
