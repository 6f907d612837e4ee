// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

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
	outcomeDone    = "done"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// metrics are the server's.
type metrics struct {
	steps   *prometheus.CounterVec
	replays *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_steps_total",
			Help: "Steps of logins at the installation's authorization server, by how they ended: done, refused for what a person, a client or a provider said, failed where the installation or a provider is away.",
		}, []string{"step", "outcome"}),
		replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_replays_total",
			Help: "Grants that were ended because their code or a refresh token came a second time, which is how a stolen one is noticed.",
		}, []string{"what"}),
	}
	for _, s := range []step{stepAuthorize, stepLogin, stepCallback, stepConsent, stepToken, stepRevoke, stepRegister, stepInvitation, stepConnect, stepConnected, stepAdminister, stepConsole} {
		for _, outcome := range []string{outcomeDone, outcomeRefused, outcomeFailed} {
			m.steps.WithLabelValues(string(s), outcome)
		}
	}
	telemetry.Begin(m.replays, replayCode, replayRefresh)
	if err := telemetry.Register(reg, m.steps, m.replays); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	return m, nil
}
