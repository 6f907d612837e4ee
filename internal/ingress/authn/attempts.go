// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// The limits of failed attempts. A key has 130 random bits, which nobody
// guesses at any rate: they are for the noise, and against who tries ids.
// Requests that present no key are no attempts, since clients find out in that
// way that one is needed.
const (
	// SourceBurst and sourceEvery let an office behind one address with several
	// misconfigured clients be told 401, and not 429, a minute long.
	SourceBurst = 60
	sourceEvery = time.Second
	// IDBurst and idEvery are for one key's id, from wherever: somebody who
	// pastes a key needs a few attempts, and each is several requests of a client
	// that tries one version of the protocol after the other.
	IDBurst = 30
	idEvery = 2 * time.Second
)

// attempts limits what is told to those who present keys that open nothing. It
// never looks at a request whose key is right, so that no number of failures
// keeps a key's owner out. Its memory is fixed.
type attempts struct {
	seed    maphash.Seed
	sources *limits.SourceRate
	ids     limits.Rate
	refused *prometheus.CounterVec
}

func newAttempts(reg prometheus.Registerer) (*attempts, error) {
	a := &attempts{
		seed:    maphash.MakeSeed(),
		sources: limits.NewSourceRate(SourceBurst, sourceEvery),
		ids:     limits.Rate{Burst: IDBurst, Every: idEvery},
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
	wait := a.sources.Take(source, now)
	if id != "" {
		wait = max(wait, a.ids.Take(maphash.String(a.seed, id), now))
	}
	if wait > 0 {
		a.refused.WithLabelValues("limited").Inc()
	} else {
		a.refused.WithLabelValues("unauthorized").Inc()
	}
	return wait
}

// Refuse returns the error for a key or token that opens nothing. Many of one
// source, or with one key's id, are answered by asking to wait.
func (a *Authenticator) Refuse(source netip.Addr, presented, id string) error {
	if presented == "" {
		return problems.Unauthorized
	}
	wait := a.attempts.failed(source, id, time.Now())
	if wait == 0 {
		return problems.Unauthorized
	}
	return problems.TooManyAttempts.After(wait)
}
