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

// providerStates are the flow.ProviderHealth of all providers, by their ids.
type providerStates struct {
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

// providerAnswered notes that a provider said who a person is.
func (s *core) providerAnswered(p flow.Provider) {
	s.states.change(p, func(h *flow.ProviderHealth) { h.Answered = s.Now() })
}

// providerFailed notes why a provider said nothing of a person. Errors but its own answers
// stay in the log: they can name internal addresses.
func (s *core) providerFailed(p flow.Provider, why error) {
	trouble := ""
	if answered, ok := errors.AsType[*flow.AnswerError](why); ok {
		trouble = answered.Error()
	}
	s.states.change(p, func(h *flow.ProviderHealth) { h.Failed, h.Trouble = s.Now(), trouble })
}

// noteToken notes whether a login for a grant came with a refresh token, by which the
// provider is asked again. The log says so of the first login without one.
func (s *core) noteToken(ctx context.Context, p flow.Provider, given bool) {
	known := false
	s.states.change(p, func(h *flow.ProviderHealth) { known, h.NoToken = h.NoToken, !given })
	if given {
		return
	}
	s.metrics.countRecheck(p, recheckNoToken)
	if !known {
		s.Log.WarnContext(ctx, "a provider gives no refresh token, so that it is not asked again who a person is: have it give one to this client, or set maxAge",
			slog.String("provider", p.ID()), slog.Duration("loginLasts", s.loginLasts(p)))
	}
}

// loginLasts returns how long a grant of a provider lasts at most.
func (s *core) loginLasts(p flow.Provider) time.Duration {
	if limit := p.Limits().MaxAge; limit != 0 {
		return min(limit, s.RefreshToken)
	}
	return s.RefreshToken
}

// ProviderHealth returns what this process knows of the providers, in the order of the
// configuration.
func (s *core) ProviderHealth() []flow.ProviderHealth {
	var all []flow.ProviderHealth
	for _, p := range s.Providers {
		s.states.change(p, func(h *flow.ProviderHealth) {
			h.ID, h.Name, h.Limits, h.Login = p.ID(), p.Name(), p.Limits(), s.loginLasts(p)
			all = append(all, *h)
		})
	}
	return all
}
