// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The answers of a person.
const (
	answerAllow = "allow"
	answerDeny  = "deny"
)

// The acts of the audit trail.
const (
	actAllow   = "allow"
	actDeny    = "deny"
	actReplay  = "revoke-replayed"
	actJoin    = "join"
	actInvite  = "invitations.create"
	actEnd     = "logins.delete"
	actConnect = "connect"
)

// scopeWords are what scopes let a program do, in words.
var scopeWords = map[string]string{
	oauth.ScopeRead: "See which tools, resources and prompts there are, and read resources",
	oauth.ScopeCall: "Call tools, which may change things in what you have connected",
}

// consentHandler asks a person for consent and makes the grant.
type consentHandler struct {
	*core
	*loginSessions
	*admission
}

// askPerson asks the person who logged in whether they agree. It does so each
// time: providers log people in without a word, and another program could ask
// under the id of one that they agreed to.
func (s *consentHandler) askPerson(c httpapi.Call, p loginSession, provider flow.Provider, who flow.Identity) error {
	user, offered, err := s.userFor(c.Request().Context(), who, p.Ask.Resource)
	if err != nil {
		return linkedToClient(err, p.Ask)
	}
	if offered {
		p.Offered = user
	}
	secret, err := s.saveFor(c, p, who, stageAgree)
	if err != nil {
		return err
	}
	data := s.consentOf(p.Ask)
	data.Person, data.Provider, data.Bridge, data.Offered, data.Login = who.Name, provider.Name(), user, offered, secret
	return s.pages.show(c, s.pages.consent, statusOK, formTargets(p.Ask.Redirect), data)
}

// consentOf returns the page of what a client asks for.
func (s *consentHandler) consentOf(a *authorizationRequest) consentPage {
	data := consentPage{
		heading:      s.pages.titled("Let " + a.Client.ShownName() + " in?"),
		Client:       a.Client.ShownName(),
		ClientHost:   a.Client.DocumentHost(),
		Unchecked:    !a.Client.Configured && !a.Client.Document,
		RedirectHost: hostOf(a.Redirect),
		Loopback:     client.IsLoopback(a.Redirect),
		Action:       pathConsent,
	}
	if u, err := url.Parse(a.Redirect); err == nil && !data.Loopback && u.Scheme != schemeHTTPS {
		data.Scheme = u.Scheme + ":"
	}
	for _, name := range a.Scopes {
		data.Scopes = append(data.Scopes, scopeWords[name])
	}
	return data
}

// linkedToClient adds to a refusal of a person the link back to the client of a.
func linkedToClient(err error, a *authorizationRequest) error {
	if e, ok := plainRefusal(err); ok {
		return e.withRequest(a)
	}
	return err
}

// consent takes the person's answer. The secret of the login is in the page alone,
// which proves that it is their answer.
func (s *consentHandler) consent(c httpapi.Call) error {
	answer, p, err := s.readAnswer(c)
	if err != nil {
		return err
	}
	if err := c.Audit(s.actOf(answer, p)); err != nil {
		return err
	}
	if answer == answerDeny {
		return &clientError{*p.Ask, codeAccessDenied, "The person said no."}
	}
	code, err := s.grant(c.Request().Context(), p)
	if errors.Is(err, client.ErrNotFound) {
		return errAskClient
	}
	if err != nil {
		return err
	}
	to := p.Ask.answer(s.Issuer)
	to.Set(parameterCode, code)
	redirect(c, client.AddQuery(p.Ask.Redirect, to))
	return nil
}

// grant stores what a person agreed to, and returns the code for it, or
// client.ErrNotFound if the client no longer exists.
func (s *consentHandler) grant(ctx context.Context, p loginSession) (code string, err error) {
	if err := s.clients.Use(ctx, p.Ask.Client.ID); err != nil {
		return "", err
	}
	given, err := s.grants.Create(ctx, grant.Grant{
		Client: p.Ask.Client.ID, Redirect: p.Ask.Redirect, Challenge: p.Ask.Challenge,
		Resource: p.Ask.Resource, Scopes: p.Ask.Scopes, Who: *p.Who, Provider: p.Provider, Version: p.Version,
		Began: p.Came, Offered: p.Offered != "",
	})
	return given.Text(), err
}

// readAnswer returns a person's answer, and their login, which is over by it.
func (s *consentHandler) readAnswer(c httpapi.Call) (answer string, p loginSession, err error) {
	body, err := c.Body()
	if err != nil {
		return "", loginSession{}, err
	}
	q, ok := parseParameters(string(body))
	answer = q.get(parameterAnswer)
	if !ok || q.repeated(parameterAnswer, parameterLogin) || answer != answerAllow && answer != answerDeny {
		return "", loginSession{}, errOver
	}
	login := q.get(parameterLogin)
	if p, err = s.resume(c, login, stageAgree); err != nil {
		return "", loginSession{}, err
	}
	// What takes its time and may fail comes first: the person can press again.
	if answer == answerAllow && p.Offered != "" {
		if err := s.onboard(c.Request().Context(), p); err != nil {
			return "", loginSession{}, linkedToClient(err, p.Ask)
		}
	}
	return answer, p, s.finish(c, login, p)
}

// actOf returns what a person answered, for the audit trail.
func (s *consentHandler) actOf(answer string, p loginSession) httpapi.Act {
	act := actDeny
	if answer == answerAllow {
		act = actAllow
	}
	return s.loginAct(act, *p.Who, p.Ask.Client.ID, p.Ask.Resource)
}

// loginAct returns an act of a person's.
func (s *core) loginAct(name string, who flow.Identity, on, resource string) httpapi.Act {
	user, _ := userOf(resource, s.Issuer)
	return httpapi.Act{Name: name, Target: on, Login: oauth.KeyOf(who.Issuer, who.Subject).String(), User: string(user)}
}

// stillAllowed reports whether a person with these bridges may still use a
// resource.
func (s *admission) stillAllowed(users []v1alpha1.UserID, resource string) bool {
	user, _ := userOf(resource, s.Issuer)
	if user == "" {
		return len(users) > 0
	}
	return slices.Contains(users, user)
}
