// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
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
	// stageConsole is that they are asked which bridge they want to see.
	stageConsole stage = "console"
)

// loginSession is a login that is under way. Between two requests it is in a cookie of
// the browser that began it, sealed, and the next request must have the secret by which
// it was left.
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
	// Administers is whether the login is for a token of an administrator, without an Ask.
	Administers bool `json:"administers,omitempty"`
	// Console is whether the login is for the users' console, without an Ask, and Next the
	// page of it to which it leads.
	Console bool   `json:"console,omitempty"`
	Next    string `json:"next,omitempty"`
	// Connect is a server whose account the login is to connect, without an Ask.
	Connect *connection `json:"connect,omitempty"`

	// These are of a person who is away.
	Provider string `json:"provider,omitempty"`
	Version  string `json:"version,omitempty"`
	Nonce    string `json:"nonce,omitempty"`
	Verifier string `json:"verifier,omitempty"`

	// Who is the identity of the person after the login, and nil before it.
	Who *flow.Identity `json:"who,omitempty"`
}

// loginSessions leaves the logins that are under way between two requests of a
// browser. Nothing is stored of a login that was merely begun, so that no number of
// them keeps anybody from logging in.
type loginSessions struct {
	*core

	sealKeys *sealKeys
}

// newSession returns the beginning of a login in the browser of c.
func (s *loginSessions) newSession(c httpapi.Call) (loginSession, error) {
	browser := s.cookie.Browser(c.Request())
	if browser == "" {
		var err error
		if browser, err = s.secret(); err != nil {
			return loginSession{}, err
		}
	}
	s.cookie.SetBrowser(c.Writer(), browser, loginLife)
	return loginSession{Browser: flow.Hash(browser), Ends: s.Now().Add(loginLife)}, nil
}

// errLong is that what a login is for does not fit into a browser's cookies.
var errLong = refusePage(statusBadRequest, "Your program asked with too much", "What it sent is too long to be kept in your browser while you log in.")

// sealedSession is what a cookie of a login has.
type sealedSession struct {
	// Secret is the hash of the secret by which the login was left.
	Secret string `json:"secret"`
	loginSession
}

// save leaves a login in the browser for its next step, which has the secret.
func (s *loginSessions) save(c httpapi.Call, p loginSession, secret string) error {
	hash := flow.Hash(secret)
	text, err := s.sealKeys.Seal(c.Request().Context(), jsondoc.EncodeExact(sealedSession{hash, p}))
	if err != nil {
		return fmt.Errorf("seal login: %w", err)
	}
	if !s.cookie.SetLogin(c, hash, text, loginLife) {
		return errLong
	}
	return nil
}

// saveFor keeps the login of a person who is known by now, until they have answered a
// page. It returns the secret for that page.
func (s *loginSessions) saveFor(c httpapi.Call, p loginSession, who flow.Identity, at stage) (secret string, err error) {
	if secret, err = s.secret(); err != nil {
		return "", err
	}
	who.Name, who.Since = "", s.Now() // The name is for the page alone.
	if at != stageAgree {
		who.RefreshToken = "" // It is for the grant alone.
	}
	p.Stage, p.Who, p.Came, p.Nonce, p.Verifier = at, &who, who.Since, "", ""
	err = s.save(c, p, secret)
	if errors.Is(err, errLong) && who.RefreshToken != "" {
		who.RefreshToken = "" // The provider is then asked at the next login.
		s.known.NoteToken(c.Request().Context(), s.providers[p.Provider], false)
		err = s.save(c, p, secret)
	}
	return secret, err
}

// errOver means that a login was never begun in this browser, has been finished, or
// took too long.
var errOver = refusePage(statusBadRequest, "This login is over", "Logins can be used once, in the browser in which they began, and for 15 minutes. Begin again from your program.")

// resume returns the login that was left with a secret for a stage. A person with
// the secret in another browser got a link from somebody else.
func (s *loginSessions) resume(c httpapi.Call, secret string, at stage) (loginSession, error) {
	browser := s.cookie.Browser(c.Request())
	if !flow.IsSecret(secret) || browser == "" {
		return loginSession{}, errOver
	}
	hash := flow.Hash(secret)
	value, err := s.sealKeys.Open(c.Request().Context(), s.cookie.Login(c.Request(), hash))
	if errors.Is(err, flow.ErrNotFound) {
		return loginSession{}, errOver
	}
	if err != nil {
		return loginSession{}, fmt.Errorf("read login: %w", err)
	}
	var p sealedSession
	if err := json.Unmarshal(value, &p); err != nil {
		return loginSession{}, fmt.Errorf("decode login: %w", err)
	}
	if p.Secret != hash || p.Stage != at || !flow.Same(p.Browser, flow.Hash(browser)) || !s.Now().Before(p.Ends) {
		return loginSession{}, errOver
	}
	return p.loginSession, s.checkUnused(c.Request().Context(), hash)
}

// checkUnused returns errOver for a step that was finished.
func (s *loginSessions) checkUnused(ctx context.Context, hash string) error {
	_, err := s.Store.Get(ctx, flow.KindLogin, hash)
	if errors.Is(err, flow.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read login: %w", err)
	}
	return errOver
}

// finish ends the step of a login that was resumed with a secret: it can be made once.
// It is called when a provider has said who the person is, so that strangers store
// nothing.
func (s *loginSessions) finish(c httpapi.Call, secret string, p loginSession) error {
	hash := flow.Hash(secret)
	s.cookie.RemoveLogin(c, hash)
	err := s.Store.Put(c.Request().Context(), flow.KindLogin, hash, []byte(`{}`), p.Ends)
	if errors.Is(err, flow.ErrExists) {
		return errOver
	}
	if err != nil {
		return fmt.Errorf("finish login: %w", err)
	}
	return nil
}
