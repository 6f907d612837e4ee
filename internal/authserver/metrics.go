// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// step is one of a login's requests.
type step string

// The steps.
const (
	stepAuthorize  step = "authorize"
	stepLogin      step = "login"
	stepCallback   step = "callback"
	stepConsent    step = "consent"
	stepToken      step = "token"
	stepRevoke     step = "revoke"
	stepRegister   step = "register"
	stepInvitation step = "invitation"
	stepConnect    step = "connect"
	stepConnected  step = "connected"
	stepAdminister step = "administer"
	stepConsole    step = "console"
)

// The outcomes of a step. Refused is what a person or a client is at fault for, or
// a provider's word; failed is what the installation or a provider is.
const (
	stepDone    = "done"
	stepRefused = "refused"
	stepFailed  = "failed"
)

// How rechecks of people at providers end.
const (
	recheckConfirmed = "confirmed"
	recheckEnded     = "ended"
	// RecheckUnanswered is that the provider said nothing of the person, who got tokens.
	recheckUnanswered = "unanswered"
	// RecheckRefused is that they got none, since its last word was too old.
	recheckRefused = "refused"
	// RecheckNoToken is a login that no recheck will follow.
	recheckNoToken = "no_refresh_token"
)

// RecheckOutcomes are all of them.
var recheckOutcomes = []string{recheckConfirmed, recheckEnded, recheckUnanswered, recheckRefused, recheckNoToken}

// The labels of Replays: which of the two was used again.
const (
	replayCode    = "code"
	replayRefresh = "refresh_token"
)

// metrics are the server's.
type metrics struct {
	Steps    *prometheus.CounterVec
	Replays  *prometheus.CounterVec
	Rechecks *prometheus.CounterVec
}

// CountStep counts how a step ended.
func (m *metrics) CountStep(at step, outcome string) {
	m.Steps.WithLabelValues(string(at), outcome).Inc()
}

// CountRecheck counts how a recheck at a provider ended.
func (m *metrics) CountRecheck(p flow.Provider, outcome string) {
	m.Rechecks.WithLabelValues(p.ID(), outcome).Inc()
}

// newMetrics returns metrics that are registered.
func newMetrics(reg prometheus.Registerer, providers []flow.Provider) (*metrics, error) {
	m := &metrics{
		Steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_steps_total",
			Help: "Steps of logins at the installation's authorization server, by how they ended: done, refused for what a person, a client or a provider said, failed where the installation or a provider is away.",
		}, []string{"step", "outcome"}),
		Replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_replays_total",
			Help: "Grants that were ended because their code or a refresh token came a second time, which is how a stolen one is noticed.",
		}, []string{"what"}),
		Rechecks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_rechecks_total",
			Help: "Refreshes at which the identity provider was to say who the person is, by how they ended: confirmed, ended because it lets the person in no more, unanswered, or refused because its last answer is too old; and logins after which it is not asked, because it gave no_refresh_token.",
		}, []string{"provider", "outcome"}),
	}
	for _, s := range []step{stepAuthorize, stepLogin, stepCallback, stepConsent, stepToken, stepRevoke, stepRegister, stepInvitation, stepConnect, stepConnected, stepAdminister, stepConsole} {
		for _, outcome := range []string{stepDone, stepRefused, stepFailed} {
			m.Steps.WithLabelValues(string(s), outcome)
		}
	}
	telemetry.Begin(m.Replays, replayCode, replayRefresh)
	for _, p := range providers {
		if p.Limits().Grace == 0 {
			continue
		}
		for _, outcome := range recheckOutcomes {
			m.Rechecks.WithLabelValues(p.ID(), outcome)
		}
	}
	if err := telemetry.Register(reg, m.Steps, m.Replays, m.Rechecks); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	return m, nil
}
