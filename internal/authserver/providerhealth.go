// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"sync"

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

// ProviderHealth returns what this process knows of the providers, in the order of the
// configuration.
func (s *core) ProviderHealth() []flow.ProviderHealth {
	var all []flow.ProviderHealth
	for _, p := range s.Providers {
		s.states.change(p, func(h *flow.ProviderHealth) {
			h.ID, h.Name, h.Limits = p.ID(), p.Name(), p.Limits()
			all = append(all, *h)
		})
	}
	return all
}
