// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

const (
	// early is how long before its expiry a token is replaced, because a call needs time to reach
	// its server and clocks differ. spread is a random addition, so that bridges that started
	// together do not refresh together.
	early  = time.Minute
	spread = 10 * time.Second
	// settled is the minimum age of a token that the bridge replaces when the server refuses it.
	// If the server refuses a newer token, it would refuse the next one too.
	settled = 30 * time.Second
	// farewell is how long Wipe waits for requests in progress.
	farewell = 5 * time.Second
)

// SaveFunc stores the user's secret of that name. It must not keep value. After an error it is
// called again later, unless the error is ErrNotStorable.
type SaveFunc func(ctx context.Context, name string, value []byte) error

// SecretFunc returns the user's secret of that name, if it is set.
type SecretFunc func(name string) (string, bool)

// Source provides the token for one server, from its first use until Wipe. It is safe for
// concurrent use.
type Source struct {
	endpoint *tokenEndpoint
	store    *tokenStore
	turn     TurnFunc // nil if no other process uses the login
	clock    clock.Clock

	// work counts the background goroutines. They end when closing is closed.
	work    sync.WaitGroup
	closing chan struct{}

	mu      sync.Mutex
	closed  bool
	secrets *userSecrets
	current tokens
	// login counts the user's logins: the result of a refresh for an earlier login is dropped.
	login   int
	flight  *flight
	backoff backoff
}

// flight is one token request that several calls may wait for.
type flight struct {
	done  chan struct{}
	login int
	// exchanges says that the request exchanges a code. sent says that it may have reached the
	// authorization server.
	exchanges bool
	sent      atomic.Bool
	// token and err are set when done is closed.
	token string
	err   error
}

// NewSource returns the token source for c. secretValue returns the user's secrets. save stores
// the tokens of a login when they are replaced. If save is nil, nothing is stored: the login then
// lasts only as long as the process, or as long as its first refresh token is valid.
//
// Use one Source for as long as the configuration of the server stays the same, because it may
// hold tokens that are not stored yet. Call Refill when the secrets change.
func NewSource(
	c bridgeconfig.OAuth, secretValue func(name string) (string, bool), save func(ctx context.Context, name string, value []byte) error,
	client *http.Client, clock clock.Clock,
) *Source {
	s := &Source{
		endpoint: newTokenEndpoint(c, client), clock: clock, secrets: newUserSecrets(secretValue), closing: make(chan struct{}),
	}
	s.store = &tokenStore{save: save, name: c.Token, clock: clock, start: s.work.Go, closing: s.closing}
	return s
}

// TakeTurns makes the source call turn before each refresh, for a login that other processes use
// too. Call it before the source's first use.
func (s *Source) TakeTurns(turn TurnFunc) { s.turn = turn }

// Refill updates the user's secrets. Tokens that this source stored or started with change
// nothing. Other tokens belong to a new login and are used from now on. If there are no tokens any
// more, the user has ended the login: its tokens are dropped, including those that are not stored
// yet.
func (s *Source) Refill(secretValue func(name string) (string, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets.lookup = secretValue
	if s.closed || !s.secrets.begun {
		return
	}
	config := s.endpoint.config
	if s.secrets.credentialChanged(config.ClientSecret) {
		s.backoff.reset()
		if !s.endpoint.refreshes() {
			s.begin(tokens{})
		}
	}
	if !s.endpoint.refreshes() {
		return
	}
	value, ok := secretValue(config.Token)
	switch {
	case !ok:
		s.remove()
	case !s.secrets.isOfLogin([]byte(value)):
		s.read(value)
	}
}

// remove ends the login. The caller holds s.mu.
func (s *Source) remove() {
	s.secrets.forgetLogin()
	s.discard()
	s.begin(tokens{})
	s.fail(removed(s.endpoint.config.Token))
}

// start reads the secrets when a token is first needed. The caller holds s.mu.
func (s *Source) start() {
	if s.secrets.begun {
		return
	}
	config := s.endpoint.config
	s.secrets.begun = true
	s.secrets.credentialChanged(config.ClientSecret)
	if !s.endpoint.refreshes() {
		return
	}
	if value, ok := s.secrets.lookup(config.Token); ok {
		s.read(value)
		return
	}
	s.fail(unset(config.Token))
}

// read reads the login from the secret's value. The caller holds s.mu.
func (s *Source) read(value string) {
	s.secrets.forgetLogin()
	s.secrets.addToLogin([]byte(value))
	s.store.discard()
	login, ok := parseLogin(value)
	if !ok {
		s.begin(tokens{})
		s.fail(noLogin(s.endpoint.config.Token))
		return
	}
	t := tokens{
		access: secret.New([]byte(login.AccessToken)), refresh: secret.New([]byte(login.RefreshToken)), expiry: login.Expiry,
		code: code{value: secret.New([]byte(login.Code)), verifier: secret.New([]byte(login.Verifier)), redirectURI: login.RedirectURI},
	}
	if !t.expiry.IsZero() {
		t.due = t.expiry.Add(-early - jitter(spread))
	}
	s.begin(t)
	s.backoff.reset()
}

// begin replaces the tokens by those of another login. The caller holds s.mu.
func (s *Source) begin(t tokens) {
	s.current.wipe()
	s.current = t
	s.login++
}

// fail records why the token is missing, and starts the pause before the next request. The caller
// holds s.mu.
func (s *Source) fail(err *Error) { s.backoff.fail(err, s.clock.Now()) }

// token returns the token to send. It never returns refused, the token that the server refused;
// refused may be empty. The error is an *Error or the context's error.
func (s *Source) token(ctx context.Context, refused string) (string, error) {
	for {
		token, f, err := s.have(ctx, refused)
		if f == nil {
			return token, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if f.err == nil {
			return f.token, nil
		}
		// In the meantime there is another login, or the failure was recorded.
	}
}

// have returns the current token, or the pending request for a new one. It starts the request if
// necessary.
func (s *Source) have(ctx context.Context, refused string) (string, *flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", nil, errWiped
	}
	s.start()
	now := s.clock.Now()
	token := s.current.access.Reveal()
	if refused != "" && token == refused {
		s.current.access.Wipe()
	}
	switch {
	case s.current.fresh(now):
		return token, nil, nil
	case s.flight != nil:
		return "", s.flight, nil
	case !s.idle(now):
		s.depart(ctx)
		return "", s.flight, nil
	case s.current.usable(now):
		return token, nil, nil
	}
	return "", nil, s.backoff.fault
}

// idle reports whether no request can be made now: there are no credentials, or the last request
// has just failed. The caller holds s.mu.
func (s *Source) idle(now time.Time) bool {
	if !s.endpoint.refreshes() || s.current.renewable() {
		return s.backoff.blocks(now)
	}
	if s.backoff.fault == nil && !s.current.usable(now) {
		s.fail(errExpired)
	}
	return true
}

// isRefusable reports whether to replace this token after the server refused it: it is not the
// current token, or it is not new.
func (s *Source) isRefusable(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.access.Reveal() != token || s.current.got.IsZero() || s.clock.Now().Sub(s.current.got) >= settled
}

// Wipe ends the source and overwrites its tokens. A refresh in progress, and tokens that are not
// stored yet, get up to 5 s to be stored.
func (s *Source) Wipe() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-s.clock.After(farewell):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard()
}

// Format implements fmt.Formatter for all verbs: package fmt would print the fields.
func (s *Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[an OAuth token]") }

// discard overwrites the tokens. The caller holds s.mu.
func (s *Source) discard() {
	s.current.wipe()
	s.store.discard()
}
