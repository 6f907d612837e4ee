// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// providerStates keeps what this process knows of the identity providers. It is safe for
// concurrent use.
type providerStates struct {
	List []flow.Provider
	// Login is how long a grant lasts at most, where its provider does not say less.
	Login   time.Duration
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *metrics

	mu sync.Mutex
	of map[string]*flow.ProviderHealth
}

// change changes what is known of a provider.
func (s *providerStates) change(p flow.Provider, how func(*flow.ProviderHealth)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*flow.ProviderHealth{}
	}
	if s.of[p.ID()] == nil {
		s.of[p.ID()] = &flow.ProviderHealth{}
	}
	how(s.of[p.ID()])
}

// Answered notes that a provider said who a person is.
func (s *providerStates) Answered(p flow.Provider) {
	s.change(p, func(h *flow.ProviderHealth) { h.Answered = s.Now() })
}

// Failed notes why a provider said nothing of a person. Errors but its own answers and those of
// settings stay in the log: they can name internal addresses.
func (s *providerStates) Failed(p flow.Provider, why error) {
	trouble := ""
	answered, isAnswer := errors.AsType[*flow.AnswerError](why)
	setup, isSetup := errors.AsType[flow.SetupError](why)
	switch {
	case isAnswer:
		trouble = answered.Error()
	case isSetup:
		trouble = setup.Error()
	}
	s.change(p, func(h *flow.ProviderHealth) { h.Failed, h.Trouble = s.Now(), trouble })
}

// NoteToken notes whether a login for a grant came with a refresh token, by which the
// provider is asked again. The log says so of the first login without one.
func (s *providerStates) NoteToken(ctx context.Context, p flow.Provider, given bool) {
	known := false
	s.change(p, func(h *flow.ProviderHealth) { known, h.NoToken = h.NoToken, !given })
	if given {
		return
	}
	s.Metrics.CountRecheck(p, recheckNoToken)
	if !known {
		s.Log.WarnContext(ctx, "a provider gives no refresh token, so that it is not asked again who a person is: have it give one to this client, or set maxAge",
			slog.String("provider", p.ID()), slog.Duration("loginLasts", s.LoginLasts(p)))
	}
}

// LoginLasts returns how long a grant of a provider lasts at most.
func (s *providerStates) LoginLasts(p flow.Provider) time.Duration {
	if limit := p.Limits().MaxAge; limit != 0 {
		return min(limit, s.Login)
	}
	return s.Login
}

// Health returns what this process knows of the providers, in the order of the
// configuration.
func (s *providerStates) Health() []flow.ProviderHealth {
	var all []flow.ProviderHealth
	for _, p := range s.List {
		s.change(p, func(h *flow.ProviderHealth) {
			h.ID, h.Name, h.Limits, h.Login = p.ID(), p.Name(), p.Limits(), s.LoginLasts(p)
			all = append(all, *h)
		})
	}
	return all
}
