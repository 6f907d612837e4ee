// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// depart begins a request for a token. It belongs to all who wait for it: that
// the first of them leaves must not lose what has been rotated. The caller
// holds s.mu.
func (s *Source) depart(ctx context.Context) {
	ask := s.question()
	f := &flight{done: make(chan struct{}), login: s.login, exchanges: ask.code != ""}
	s.flight = f
	s.work.Go(func() {
		ctx := context.WithoutCancel(ctx)
		s.fly(ctx, f, ask)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flight = nil
		close(f.done)
	})
}

// fly makes the request when it is this process's turn, and stores what came of
// it before the turn ends.
func (s *Source) fly(ctx context.Context, f *flight, ask question) {
	over, end, err := s.await(ctx, f)
	defer end()
	if over {
		return
	}
	var got *oauth2.Token
	if err == nil {
		got, err = s.ask(f.watched(ctx), ask)
	}
	if s.arrive(f, got, err) {
		s.store(ctx)
	}
}

// question is one request to the authorization server.
type question struct {
	style               oauth2.AuthStyle
	secretSet           bool
	credential, refresh string
	// code, verifier and redirectURI are those of a code that is exchanged, empty
	// for other requests.
	code, verifier, redirectURI string
}

// watched notes that the request may have reached the authorization server.
func (f *flight) watched(ctx context.Context) context.Context {
	if !f.exchanges {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.sent.Store(true) }})
}

// question returns the next one. The caller holds s.mu.
func (s *Source) question() question {
	c := s.current.code
	q := question{
		style: s.style, refresh: s.current.refresh.Reveal(),
		code: c.value.Reveal(), verifier: c.verifier.Reveal(), redirectURI: c.redirectURI,
	}
	q.credential, q.secretSet = s.secrets(s.config.ClientSecret)
	return q
}

// ask asks for a token. A client that was not recognised names itself the other
// way: authorization servers know one of the two, and nothing was used up.
func (s *Source) ask(ctx context.Context, q question) (*oauth2.Token, error) {
	if s.config.ClientSecret != "" && !q.secretSet {
		return nil, unset(s.config.ClientSecret)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, s.client), patience)
	defer cancel()
	got, err := s.exchange(ctx, q)
	if clientRefused(err) && s.config.ClientSecret != "" {
		q.style = oauth2.AuthStyleInHeader + oauth2.AuthStyleInParams - q.style
		if got, err = s.exchange(ctx, q); !clientRefused(err) {
			s.mu.Lock()
			s.style = q.style
			s.mu.Unlock()
		}
	}
	if err != nil && ctx.Err() != nil {
		return nil, errSlow
	}
	return got, err
}

// exchange makes one request. That of a refresh and that with a code differ in
// their grants alone, and ask for no scopes: they get those of the login.
func (s *Source) exchange(ctx context.Context, q question) (*oauth2.Token, error) {
	c := clientcredentials.Config{
		ClientID: s.config.ClientID, ClientSecret: q.credential, TokenURL: s.config.TokenURL, AuthStyle: q.style,
		EndpointParams: url.Values{},
	}
	if s.config.Resource != "" {
		c.EndpointParams.Set("resource", s.config.Resource)
	}
	switch {
	case q.code != "":
		c.EndpointParams.Set("grant_type", "authorization_code")
		c.EndpointParams.Set("code", q.code)
		c.EndpointParams.Set("code_verifier", q.verifier)
		c.EndpointParams.Set("redirect_uri", q.redirectURI)
	case s.refreshes():
		c.EndpointParams.Set("grant_type", "refresh_token")
		c.EndpointParams.Set("refresh_token", q.refresh)
	default:
		c.Scopes = s.config.Scopes
	}
	got, err := c.Token(ctx)
	if err == nil && (!strings.EqualFold(got.Type(), "Bearer") || !sendable(got.AccessToken)) {
		return nil, errNoToken
	}
	return got, err
}

// arrive takes what came of the request, and reports whether there is something
// to store.
func (s *Source) arrive(f *flight, got *oauth2.Token, err error) (unsaved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.login != s.login {
		f.err = errRefused // Of the login before: whoever waits asks again.
		return false
	}
	if err != nil {
		fault := s.explain(err)
		if f.exchanges && f.sent.Load() && !clientRefused(err) {
			// It is good for one request, which may have been this one.
			s.current.wipe()
			fault = fault.spent()
		}
		s.fail(fault)
		f.err = fault
		return false
	}
	s.forgive()
	before := s.current
	s.current = s.received(got)
	f.token = got.AccessToken
	// What is stored of a code is of no use any more, whatever came of it.
	other := s.refreshes() && (f.exchanges || got.RefreshToken != before.refresh.Reveal())
	before.wipe()
	if !other || s.save == nil {
		return false
	}
	clear(s.unsaved)
	s.unsaved = s.current.encode()
	s.seen[s.hashOf(s.unsaved)] = true
	return true
}

// received dates a token by this clock, whatever the authorization server's
// says. The caller holds s.mu.
func (s *Source) received(got *oauth2.Token) tokens {
	now := s.clock.Now()
	t := tokens{access: secret.New([]byte(got.AccessToken)), got: now}
	if s.refreshes() {
		t.refresh = secret.New([]byte(got.RefreshToken))
	}
	if life := time.Until(got.Expiry).Round(time.Second); !got.Expiry.IsZero() && life > 0 {
		t.expiry = now.Add(life)
		// Of one that lives for a few minutes, half of it is for calls.
		t.due = t.expiry.Add(-min(early+jitter(spread), life/2))
	}
	return t
}
