// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure counts what the authorization server does, and keeps what is known of the
// identity providers, for metrics and for the page of administrators.
//
// The package is a shell.
package measure

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// Step is one of a login's requests.
type Step string

// The steps.
const (
	StepAuthorize  Step = "authorize"
	StepLogin      Step = "login"
	StepCallback   Step = "callback"
	StepConsent    Step = "consent"
	StepToken      Step = "token"
	StepRevoke     Step = "revoke"
	StepRegister   Step = "register"
	StepInvitation Step = "invitation"
	StepConnect    Step = "connect"
	StepConnected  Step = "connected"
	StepAdminister Step = "administer"
	StepConsole    Step = "console"
)

// The outcomes of a step. Refused is what a person or a client is at fault for, or
// a provider's word; failed is what the installation or a provider is.
const (
	Done    = "done"
	Refused = "refused"
	Failed  = "failed"
)

// How rechecks of people at providers end.
const (
	RecheckConfirmed = "confirmed"
	RecheckEnded     = "ended"
	// RecheckUnanswered is that the provider said nothing of the person, who got tokens.
	RecheckUnanswered = "unanswered"
	// RecheckRefused is that they got none, since its last word was too old.
	RecheckRefused = "refused"
	// RecheckNoToken is a login that no recheck will follow.
	RecheckNoToken = "no_refresh_token"
)

// RecheckOutcomes are all of them.
var RecheckOutcomes = []string{RecheckConfirmed, RecheckEnded, RecheckUnanswered, RecheckRefused, RecheckNoToken}

// The labels of Replays: which of the two was used again.
const (
	ReplayCode    = "code"
	ReplayRefresh = "refresh_token"
)

// Metrics are the server's.
type Metrics struct {
	Steps    *prometheus.CounterVec
	Replays  *prometheus.CounterVec
	Rechecks *prometheus.CounterVec
}

// CountStep counts how a step ended.
func (m *Metrics) CountStep(at Step, outcome string) {
	m.Steps.WithLabelValues(string(at), outcome).Inc()
}

// CountRecheck counts how a recheck at a provider ended.
func (m *Metrics) CountRecheck(p flow.Provider, outcome string) {
	m.Rechecks.WithLabelValues(p.ID(), outcome).Inc()
}

// New returns metrics that are registered.
func New(reg prometheus.Registerer, providers []flow.Provider) (*Metrics, error) {
	m := &Metrics{
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
	for _, s := range []Step{StepAuthorize, StepLogin, StepCallback, StepConsent, StepToken, StepRevoke, StepRegister, StepInvitation, StepConnect, StepConnected, StepAdminister, StepConsole} {
		for _, outcome := range []string{Done, Refused, Failed} {
			m.Steps.WithLabelValues(string(s), outcome)
		}
	}
	telemetry.Begin(m.Replays, ReplayCode, ReplayRefresh)
	for _, p := range providers {
		if p.Limits().Grace == 0 {
			continue
		}
		for _, outcome := range RecheckOutcomes {
			m.Rechecks.WithLabelValues(p.ID(), outcome)
		}
	}
	if err := telemetry.Register(reg, m.Steps, m.Replays, m.Rechecks); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	return m, nil
}
