// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// loginLife is how long a login may take from its first request to its consent: a
// person may have to find a second factor, or make an account.
const loginLife = 15 * time.Minute

// stage is for which step a login has been left.
type stage string

// The stages.
const (
	// stageChoose is that the person chooses where to log in.
	stageChoose stage = "choose"
	// stageAway is that they are at the provider.
	stageAway stage = "away"
	// stageAgree is that they are asked whether they agree.
	stageAgree stage = "agree"
	// stageConnect is that they are shown where the account of a server is, and
	// stageAccount that they are there.
	stageConnect stage = "connect"
	stageAccount stage = "account"
)

// loginSession is a login that is under way. It is stored by the hash of a secret that
// the next request must have, and is bound to the browser that began it.
type loginSession struct {
	Stage stage `json:"stage"`
	// Browser is the hash of the browser's secret.
	Browser string    `json:"browser"`
	Ends    time.Time `json:"ends"`
	// Ask is what a client asks for. Without one the login is to take an
	// invitation, the entry of which has that key.
	Ask        *authorizationRequest `json:"ask,omitempty"`
	Invitation string                `json:"invitation,omitempty"`
	// Invited is to whose bridge that is.
	Invited v1alpha1.UserID `json:"invited,omitempty"`
	// Came is when the person came back from the provider.
	Came time.Time `json:"came,omitzero"`
	// Offered is the person's bridge that is to be made when they agree.
	Offered v1alpha1.UserID `json:"offered,omitempty"`
	// Connect is a server whose account the login is to connect, without an Ask.
	Connect *connection `json:"connect,omitempty"`

	// These are of a person who is away.
	Provider string `json:"provider,omitempty"`
	Version  string `json:"version,omitempty"`
	Nonce    string `json:"nonce,omitempty"`
	Verifier string `json:"verifier,omitempty"`

	// Who is the person who came back.
	Who *flow.Identity `json:"who,omitempty"`
}

// loginSessions keeps the logins that are under way between two requests of a
// browser.
type loginSessions struct {
	*core

	limit sessionLimit
}

// newSession returns the beginning of a login in the browser of c.
func (s *loginSessions) newSession(c httpapi.Call) (loginSession, error) {
	browser := s.cookie.read(c.Request())
	if browser == "" {
		var err error
		if browser, err = s.secret(); err != nil {
			return loginSession{}, err
		}
	}
	s.cookie.set(c.Writer(), browser, loginLife)
	return loginSession{Browser: flow.Hash(browser), Ends: s.Now().Add(loginLife)}, nil
}

const (
	// maxLogins is how many logins may be under way: three times as many as begin
	// while a thousand do in a minute, and of some 4 KiB each 200 MB in the store.
	// Whoever begins many and ends none, from many addresses, fills that and no more.
	maxLogins = 50_000
	// countEvery is how old the number of logins may be.
	countEvery = 5 * time.Second
)

// errFull is that as many logins are under way as may be.
var errFull = refusePage(http.StatusServiceUnavailable, "Too many people are logging in", "Try again in a few minutes.")

// sessionLimit is how many logins were under way a moment ago.
type sessionLimit struct {
	mu    sync.Mutex
	until time.Time
	taken int
}

// checkLimit returns errFull where as many logins are under way as may be.
func (s *loginSessions) checkLimit(ctx context.Context) error {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	if now := s.Now(); !now.Before(s.limit.until) {
		taken, err := s.Store.Count(ctx, flow.KindLogin)
		if err != nil {
			return fmt.Errorf("count logins: %w", err)
		}
		s.limit.taken, s.limit.until = taken, now.Add(countEvery)
	}
	if s.limit.taken >= maxLogins {
		return errFull
	}
	return nil
}

// save stores a login for its next step, which has the secret.
func (s *loginSessions) save(ctx context.Context, p loginSession, secret string) error {
	if err := s.checkLimit(ctx); err != nil {
		return err
	}
	if err := s.Store.Put(ctx, flow.KindLogin, flow.Hash(secret), flow.Encode(p), p.Ends); err != nil {
		return fmt.Errorf("store login: %w", err)
	}
	return nil
}

// saveFor leaves a login, of which it is known now who it is of, for what they are
// asked on a page. It returns the secret for that page.
func (s *loginSessions) saveFor(ctx context.Context, p loginSession, who flow.Identity, at stage) (secret string, err error) {
	if secret, err = s.secret(); err != nil {
		return "", err
	}
	who.Name = "" // It is for the page alone.
	p.Stage, p.Who, p.Came, p.Nonce, p.Verifier = at, &who, s.Now(), "", ""
	return secret, s.save(ctx, p, secret)
}

// errOver is that there is no such login: it was never begun in this browser, has
// been finished, or took too long.
var errOver = refusePage(statusBadRequest, "This login is over", "Logins can be used once, in the browser in which they began, and for 15 minutes. Begin again from your program.")

// resume returns the login that was left with a secret for a stage, by get: the
// store's Get, or its Take where the step can be made once. Whoever has the secret
// and not the browser is somebody to whom a link was sent.
func (s *loginSessions) resume(c httpapi.Call, secret string, at stage, get func(context.Context, flow.Kind, string) ([]byte, error)) (loginSession, error) {
	browser := s.cookie.read(c.Request())
	if !flow.IsSecret(secret) || browser == "" {
		return loginSession{}, errOver
	}
	value, err := get(c.Request().Context(), flow.KindLogin, flow.Hash(secret))
	if errors.Is(err, flow.ErrNotFound) {
		return loginSession{}, errOver
	}
	if err != nil {
		return loginSession{}, fmt.Errorf("read login: %w", err)
	}
	var p loginSession
	if err := json.Unmarshal(value, &p); err != nil {
		return loginSession{}, fmt.Errorf("decode login: %w", err)
	}
	if p.Stage != at || !flow.Same(p.Browser, flow.Hash(browser)) || !s.Now().Before(p.Ends) {
		return loginSession{}, errOver
	}
	return p, nil
}
