// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const statusOK = http.StatusOK

// The refusals of a person. Whether a bridge is somebody else's or nobody's, they
// do not tell.
var (
	errNoLogin = refusePage(statusForbidden, "You could not be logged in", "The provider refused the login, or its answer was invalid. Begin again from your program.")
	errNotOne  = refusePage(statusForbidden, "You may not use this bridge", "This account has no access to this bridge.")
	errClosed  = refusePage(statusForbidden, "You have no access", "Your access to this installation was taken away. Ask whoever runs it, and tell them who you are here.")
	errNone    = refusePage(statusForbidden, "You have no bridge here", "Ask whoever runs this installation to let you use one, and tell them who you are here. Then begin again.")
	errNoStep  = refusePage(http.StatusNotFound, "There is no such page", "Nobody can log in here by this address.")
)

// What goes wrong between us and a provider: it cannot be reached, it does not work now, our
// settings or credentials do not fit it, or it refuses what we ask it for.
var (
	errProviderAway = refusePage(http.StatusServiceUnavailable, "You cannot log in at the moment", "The provider where you log in cannot be reached. Try again in a minute.")
	errProviderBusy = refusePage(http.StatusServiceUnavailable, "You cannot log in at the moment", "The provider where you log in lets nobody in now. Try again in a minute.")
	errUnfit        = refusePage(http.StatusServiceUnavailable, "You cannot log in at the moment", "This installation is not set up as the provider where you log in requires. Ask whoever runs this installation: its log has the reason.")
	errRefused      = refusePage(statusForbidden, "You could not be logged in", "The provider refuses what this installation asks it for, and not you. Ask whoever runs this installation: its log has what the provider answered.")
)

// providerLogin sends a browser to a provider.
type providerLogin struct {
	*core
	*loginSessions
}

// loginHandler takes a person who comes back from a provider to the next page.
type loginHandler struct {
	*core
	*loginSessions
	*providerLogin
	*invitationHandler
	*connectHandler
	*consentHandler
	*administerHandler
	*consoleHandler
}

// login sends the person to the provider that they chose.
func (s *loginHandler) login(c httpapi.Call) error {
	provider, ok := s.providers[c.Param("provider")]
	q, parsed := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || !parsed {
		return errNoStep
	}
	// They may come back and choose another, so that the choice stays.
	p, err := s.resume(c, q.Get(parameterLogin), stageChoose)
	if err != nil {
		return err
	}
	return s.redirectTo(c, p, provider)
}

// redirectTo sends the person to a provider.
func (s *providerLogin) redirectTo(c httpapi.Call, p loginSession, provider flow.Provider) error {
	secrets, err := s.secrets(3)
	if err != nil {
		return err
	}
	state := secrets[0]
	p.Stage, p.Provider, p.Version, p.Nonce, p.Verifier = stageAway, provider.ID(), provider.Version(), secrets[1], secrets[2]
	to, err := provider.Begin(c.Request().Context(), flow.LoginRequest{
		State: state, Nonce: p.Nonce, Verifier: p.Verifier, RedirectURL: s.callbackOf(provider),
		Offline: p.Ask != nil,
	})
	if answered, ok := errors.AsType[*flow.AnswerError](err); ok {
		return s.refused(provider, p.Ask, answered, err)
	}
	if err != nil {
		return s.failedAt(provider, p.Ask, err)
	}
	if err := s.save(c, p, state); err != nil {
		return err
	}
	redirect(c, to)
	return nil
}

func (s *providerLogin) callbackOf(provider flow.Provider) string {
	return s.Issuer + pathCallback + provider.ID()
}

// callback is where a provider sends people back to.
func (s *loginHandler) callback(c httpapi.Call) error {
	provider, ok := s.providers[c.Param("provider")]
	q, parsed := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || !parsed {
		return errNoStep
	}
	if q.Repeated(parameterState, parameterCode, parameterIssuer, parameterError) {
		return errOver
	}
	p, err := s.resume(c, q.Get(parameterState), stageAway)
	if err != nil {
		return err
	}
	// Each provider has a redirect URI of its own, so that what one of them sends is
	// not taken for another's (RFC 9700, section 4.4.2.1).
	if p.Provider != provider.ID() {
		return errOver
	}
	who, err := s.identify(c, provider, &p, q)
	if err != nil {
		return err
	}
	if err := errors.Join(s.finish(c, q.Get(parameterState), p), s.checkAccess(c.Request().Context(), who)); err != nil {
		return err
	}
	s.recordGroups(c.Request().Context(), provider, who)
	return s.goOn(c, p, provider, who)
}

// callbackForm is the callback of a provider that sends people back by a form (OAuth 2.0 Form
// Post Response Mode), as Apple does. Browsers send none of our cookies with the form of
// another site, and send them when they follow the link that is answered, which is counted.
func (s *loginHandler) callbackForm(c httpapi.Call) error {
	body, err := c.Body()
	if err != nil {
		return s.showError(c, stepCallback, err)
	}
	sent, ok := flow.ParseParameters(string(body))
	if !ok {
		return s.showError(c, stepCallback, errNoStep)
	}
	redirect(c, c.Request().URL.Path+"?"+sent.Query(parameterState, parameterCode, parameterIssuer, parameterError, parameterDescription))
	return nil
}

// goOn takes a person who came back to what their login is for.
func (s *loginHandler) goOn(c httpapi.Call, p loginSession, provider flow.Provider, who flow.Identity) error {
	switch {
	case p.Administers && p.Console:
		return s.enterAdministrator(c, p, who)
	case p.Administers:
		return s.showToken(c, who)
	case p.Console:
		return s.enterConsole(c, p, who)
	case p.Connect != nil:
		return s.askAccount(c, p, who)
	case p.Ask == nil:
		return s.join(c, p, who)
	default:
		return s.askPerson(c, p, provider, who)
	}
}

// checkAccess returns an error if the person's access was taken away.
func (s *loginHandler) checkAccess(ctx context.Context, who flow.Identity) error {
	closed, err := s.Users.Closed(ctx, who)
	if err != nil {
		return fmt.Errorf("look up access: %w", err)
	}
	if closed {
		return errClosed.withPerson(who)
	}
	return nil
}

// answeredError returns what a person is told of an error with which the provider sent them
// back. What the provider says of it is for administrators.
func (s *loginHandler) answeredError(ctx context.Context, provider flow.Provider, p *loginSession, e *flow.AnswerError) error {
	why := fmt.Errorf("login at %s: %w", provider.ID(), e)
	if e.IsAboutPerson() {
		if e.Code != codeAccessDenied || p.Ask == nil {
			return fmt.Errorf("%w: %w", errNoLogin.withRequest(p.Ask), why)
		}
		s.Log.InfoContext(ctx, "a person did not log in", slog.Any("error", why))
		return &clientError{*p.Ask, codeAccessDenied, "The person did not log in."}
	}
	return s.refused(provider, p.Ask, e, why)
}

// refused returns what a person is told when the provider refuses us, and not them.
func (s *core) refused(provider flow.Provider, ask *authorizationRequest, e *flow.AnswerError, why error) error {
	s.known.Failed(provider, why)
	page := errRefused
	switch {
	case e.Code == codeServerError || e.Code == codeUnavailable || e.Status >= 500 || e.Status == http.StatusTooManyRequests:
		page = errProviderBusy
	case e.Code == codeInvalidClient:
		page = errUnfit
	}
	return fmt.Errorf("%w: %w", page.withRequest(ask), why)
}

// failedAt returns what a person is told when nothing can be asked of the provider.
func (s *core) failedAt(provider flow.Provider, ask *authorizationRequest, why error) error {
	s.known.Failed(provider, why)
	page := errProviderAway
	if _, unfit := errors.AsType[flow.SetupError](why); unfit {
		page = errUnfit
	}
	return fmt.Errorf("%w: %w", page.withRequest(ask), why)
}

// identify returns who came back.
func (s *loginHandler) identify(c httpapi.Call, provider flow.Provider, p *loginSession, q flow.Parameters) (flow.Identity, error) {
	if code := q.Get(parameterError); code != "" {
		return flow.Identity{}, s.answeredError(c.Request().Context(), provider, p, flow.NewAnswerError(0, code, q.Get(parameterDescription)))
	}
	if q.Get(parameterCode) == "" {
		return flow.Identity{}, errNoLogin.withRequest(p.Ask)
	}
	who, err := provider.Finish(c.Request().Context(), flow.LoginAnswer{
		Code: q.Get(parameterCode), Iss: q.Get(parameterIssuer),
		Nonce: p.Nonce, Verifier: p.Verifier, RedirectURL: s.callbackOf(provider),
	})
	switch {
	case errors.Is(err, flow.ErrLogin):
		return flow.Identity{}, fmt.Errorf("%w: %w", errNoLogin.withRequest(p.Ask), err)
	case err != nil:
		return flow.Identity{}, s.failedAt(provider, p.Ask, err)
	case who.Issuer == "" || who.Subject == "":
		return flow.Identity{}, errNoLogin.withRequest(p.Ask)
	}
	s.known.Answered(provider)
	if p.Ask != nil && provider.Limits().Grace != 0 {
		s.known.NoteToken(c.Request().Context(), provider, who.RefreshToken != "")
	}
	return who, nil
}
