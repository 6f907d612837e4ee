// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// ConsoleLogin begins a session of the users' console for a person who logged in, and sends
// the browser to a page of it.
type ConsoleLogin func(c httpapi.Call, who httpapi.Identity, next string) error

// consoleHandler logs people in to the users' console. No client is part of it, so that
// nobody is asked for consent, but about a bridge that the installation did not make for
// them.
type consoleHandler struct {
	*core
	*loginSessions
	*providerLogin
	*consentHandler
}

// console is where a login to the console begins.
func (s *consoleHandler) console(c httpapi.Call) error {
	p, err := s.newConsoleSession(c)
	if err != nil {
		return err
	}
	return s.chooseProvider(c, p)
}

// newConsoleSession returns the beginning of a login to a console, and to one of its pages.
func (s *loginSessions) newConsoleSession(c httpapi.Call) (loginSession, error) {
	q, ok := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || q.Repeated(parameterNext) {
		return loginSession{}, errNoStep
	}
	p, err := s.newSession(c)
	p.Console, p.Next = true, q.Get(parameterNext)
	return p, err
}

// enterConsole has a person who logged in use the console for their bridge, or asks them
// which one.
func (s *consoleHandler) enterConsole(c httpapi.Call, p loginSession, who flow.Identity) error {
	may, err := s.choiceFor(c.Request().Context(), who, oauth.Resource(s.Issuer, pathCommon))
	if err != nil {
		return err
	}
	if len(may.Bridges) == 1 && may.Offered == "" && !optionOf(may.Bridges[0]).Foreign {
		return s.Console(c, s.identityOf(who, may.Bridges[0].User), p.Next)
	}
	p.Offered = may.Offered
	secret, err := s.saveFor(c, p, who, stageConsole)
	if err != nil {
		return err
	}
	return s.pages.Show(c, s.pages.ConsolePage, statusOK, "'self'", consentPage{
		heading: s.pages.Titled("Choose your bridge"), Person: who.Name, Bridges: shownBridges(may), Action: ConsolePath, Login: secret,
	})
}

// chooseBridge takes the bridge that a person chose.
func (s *consoleHandler) chooseBridge(c httpapi.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	q, ok := flow.ParseParameters(string(body))
	if !ok || q.Repeated(parameterLogin, parameterBridge) {
		return errOver
	}
	login := q.Get(parameterLogin)
	p, err := s.resume(c, login, stageConsole)
	if err != nil {
		return err
	}
	b, err := s.agreedAt(c.Request().Context(), p, oauth.Resource(s.Issuer, pathCommon), q.Get(parameterBridge))
	if err != nil {
		return err
	}
	if err := s.finish(c, login, p); err != nil {
		return err
	}
	return s.Console(c, s.identityOf(*p.Who, b.User), p.Next)
}

func (s *core) identityOf(who flow.Identity, user v1alpha1.UserID) httpapi.Identity {
	key := oauth.KeyOf(who.Issuer, who.Subject)
	return httpapi.Identity{User: user, Subject: &key, Ruled: who.User, Since: s.Now()}
}

// LoginEnded reports whether an administrator has ended the logins for a user's bridge
// since a login began.
func (s *core) LoginEnded(ctx context.Context, user v1alpha1.UserID, since time.Time) (bool, error) {
	return s.grants.Ended(ctx, since, user)
}
