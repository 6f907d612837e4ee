// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"net/http/httptrace"
	"time"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// depart starts a token request. All waiting calls share it: if the first of them is cancelled, a
// rotated token must not be lost. The caller holds s.mu.
func (s *Source) depart(ctx context.Context) {
	next := s.nextRequest()
	f := &flight{done: make(chan struct{}), login: s.login, exchanges: next.code != ""}
	s.flight = f
	s.work.Go(func() {
		ctx := context.WithoutCancel(ctx)
		s.fly(ctx, f, next)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flight = nil
		close(f.done)
	})
}

// fly makes the request when it is this process's turn, and stores the result before the turn
// ends.
func (s *Source) fly(ctx context.Context, f *flight, next tokenRequest) {
	over, end, err := s.await(ctx, f)
	defer end()
	if over {
		return
	}
	var got *oauth2.Token
	if err == nil {
		got, err = s.endpoint.request(f.watched(ctx), next)
	}
	if s.arrive(f, got, err) {
		s.store.store(ctx)
	}
}

// watched records that the request may have reached the authorization server.
func (f *flight) watched(ctx context.Context) context.Context {
	if !f.exchanges {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.sent.Store(true) }})
}

// nextRequest returns the content of the next request. The caller holds s.mu.
func (s *Source) nextRequest() tokenRequest {
	c := s.current.code
	next := tokenRequest{
		refresh: s.current.refresh.Reveal(), code: c.value.Reveal(), verifier: c.verifier.Reveal(), redirectURI: c.redirectURI,
	}
	next.credential, next.secretSet = s.secrets.lookup(s.endpoint.config.ClientSecret)
	return next
}

// arrive handles the result of the request, and reports whether there are tokens to store.
func (s *Source) arrive(f *flight, got *oauth2.Token, err error) (unsaved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.login != s.login {
		f.err = errRefused // It belongs to the previous login: waiting calls ask again.
		return false
	}
	if err != nil {
		fault := s.endpoint.explain(err)
		if f.exchanges && f.sent.Load() && !clientRefused(err) {
			// A code can be used once, and this request may have used it.
			s.current.wipe()
			fault = fault.spent()
		}
		s.fail(fault)
		f.err = fault
		return false
	}
	s.backoff.reset()
	before := s.current
	s.current = s.received(got)
	f.token = got.AccessToken
	// A stored code is useless after the exchange, whatever the result.
	other := s.endpoint.refreshes() && (f.exchanges || got.RefreshToken != before.refresh.Reveal())
	before.wipe()
	if !other || s.store.save == nil {
		return false
	}
	value := s.current.encode()
	s.secrets.addToLogin(value)
	s.store.set(value)
	return true
}

// received computes the times of a token by the local clock, not by the authorization server's.
// The caller holds s.mu.
func (s *Source) received(got *oauth2.Token) tokens {
	now := s.clock.Now()
	t := tokens{access: secret.New([]byte(got.AccessToken)), got: now}
	if s.endpoint.refreshes() {
		t.refresh = secret.New([]byte(got.RefreshToken))
	}
	if life := time.Until(got.Expiry).Round(time.Second); !got.Expiry.IsZero() && life > 0 {
		t.expiry = now.Add(life)
		// A token that lives only a few minutes serves calls for at least half of its life.
		t.due = t.expiry.Add(-min(early+jitter(spread), life/2))
	}
	return t
}
