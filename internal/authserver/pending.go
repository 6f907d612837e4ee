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
	"github.com/hostedbridge/hostedbridge/internal/surface"
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

// pending is a login that is under way. It is stored by the hash of a secret that
// the next request must have, and is bound to the browser that began it.
type pending struct {
	Stage stage `json:"stage"`
	// Browser is the hash of the browser's secret.
	Browser string    `json:"browser"`
	Ends    time.Time `json:"ends"`
	// Ask is what a client asks for. Without one the login is to take an
	// invitation, the entry of which has that key.
	Ask        *ask   `json:"ask,omitempty"`
	Invitation string `json:"invitation,omitempty"`
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

// newPending returns the beginning of a login in the browser of c.
func (s *Server) newPending(c surface.Call) (pending, error) {
	browser := s.cookie.read(c.Request())
	if browser == "" {
		var err error
		if browser, err = s.secret(); err != nil {
			return pending{}, err
		}
	}
	s.cookie.set(c.Writer(), browser, loginLife)
	return pending{Browser: hashOf(browser), Ends: s.Now().Add(loginLife)}, nil
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

// room is how many logins were under way a moment ago.
type room struct {
	mu    sync.Mutex
	until time.Time
	taken int
}

// hasRoom returns errFull where as many logins are under way as may be.
func (s *Server) hasRoom(ctx context.Context) error {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if now := s.Now(); !now.Before(s.room.until) {
		taken, err := s.Store.Count(ctx, flow.KindLogin)
		if err != nil {
			return fmt.Errorf("count logins: %w", err)
		}
		s.room.taken, s.room.until = taken, now.Add(countEvery)
	}
	if s.room.taken >= maxLogins {
		return errFull
	}
	return nil
}

// leave stores a login for its next step, which has the secret.
func (s *Server) leave(ctx context.Context, p pending, secret string) error {
	if err := s.hasRoom(ctx); err != nil {
		return err
	}
	if err := s.Store.Put(ctx, flow.KindLogin, hashOf(secret), encode(p), p.Ends); err != nil {
		return fmt.Errorf("store login: %w", err)
	}
	return nil
}

// leaveFor leaves a login, of which it is known now who it is of, for what they are
// asked on a page. It returns the secret for that page.
func (s *Server) leaveFor(ctx context.Context, p pending, who flow.Identity, at stage) (secret string, err error) {
	if secret, err = s.secret(); err != nil {
		return "", err
	}
	who.Name = "" // It is for the page alone.
	p.Stage, p.Who, p.Came, p.Nonce, p.Verifier = at, &who, s.Now(), "", ""
	return secret, s.leave(ctx, p, secret)
}

// errOver is that there is no such login: it was never begun in this browser, has
// been finished, or took too long.
var errOver = refusePage(statusBadRequest, "This login is over", "Logins can be used once, in the browser in which they began, and for 15 minutes. Begin again from your program.")

// resume returns the login that was left with a secret for a stage, by get: the
// store's Get, or its Take where the step can be made once. Whoever has the secret
// and not the browser is somebody to whom a link was sent.
func (s *Server) resume(c surface.Call, secret string, at stage, get func(context.Context, flow.Kind, string) ([]byte, error)) (pending, error) {
	browser := s.cookie.read(c.Request())
	if !secretForm.MatchString(secret) || browser == "" {
		return pending{}, errOver
	}
	value, err := get(c.Request().Context(), flow.KindLogin, hashOf(secret))
	if errors.Is(err, flow.ErrNotFound) {
		return pending{}, errOver
	}
	if err != nil {
		return pending{}, fmt.Errorf("read login: %w", err)
	}
	var p pending
	if err := json.Unmarshal(value, &p); err != nil {
		return pending{}, fmt.Errorf("decode login: %w", err)
	}
	if p.Stage != at || !same(p.Browser, hashOf(browser)) || !s.Now().Before(p.Ends) {
		return pending{}, errOver
	}
	return p, nil
}
