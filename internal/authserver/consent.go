// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/surface"
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

// askPerson asks the person who logged in whether they agree. It does so each
// time: providers log people in without a word, and another program could ask
// under the id of one that they agreed to.
func (s *Server) askPerson(c surface.Call, p pending, provider flow.Provider, who flow.Identity) error {
	user, offered, err := s.mayUse(c.Request().Context(), who, p.Ask.Resource)
	if err != nil {
		return toldOf(err, p.Ask)
	}
	if offered {
		p.Offered = user
	}
	secret, err := s.leaveFor(c.Request().Context(), p, who, stageAgree)
	if err != nil {
		return err
	}
	data := s.consentOf(p.Ask)
	data.Person, data.Provider, data.Bridge, data.Offered, data.Login = who.Name, provider.Name(), user, offered, secret
	return s.pages.show(c, s.pages.consent, statusOK, formTargets(p.Ask.Redirect), data)
}

// consentOf returns the page of what a client asks for.
func (s *Server) consentOf(a *ask) consentPage {
	data := consentPage{
		heading:      s.pages.titled("Let " + a.Client.shownName() + " in?"),
		Client:       a.Client.shownName(),
		ClientHost:   a.Client.documentHost(),
		Unchecked:    !a.Client.Configured && !a.Client.Document,
		RedirectHost: hostOf(a.Redirect),
		Loopback:     loopback.MatchString(a.Redirect),
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

// toldOf gives a person's refusal a way back to the client of a.
func toldOf(err error, a *ask) error {
	if e, ok := plainRefusal(err); ok {
		return e.of(a)
	}
	return err
}

// consent takes the person's answer. The secret of the login is in the page alone,
// which proves that it is their answer.
func (s *Server) consent(c surface.Call) error {
	answer, p, err := s.answered(c)
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
	if errors.Is(err, errNoClient) {
		return errAskClient
	}
	if err != nil {
		return err
	}
	to := p.Ask.answer(s.Issuer)
	to.Set(parameterCode, code)
	redirect(c, with(p.Ask.Redirect, to))
	return nil
}

// answered returns a person's answer, and their login, which is over by it.
func (s *Server) answered(c surface.Call) (answer string, p pending, err error) {
	body, err := c.Body()
	if err != nil {
		return "", pending{}, err
	}
	q, ok := parseParameters(string(body))
	answer = q.get(parameterAnswer)
	if !ok || q.repeated(parameterAnswer, parameterLogin) || answer != answerAllow && answer != answerDeny {
		return "", pending{}, errOver
	}
	login := q.get(parameterLogin)
	if p, err = s.resume(c, login, stageAgree, s.Store.Get); err != nil {
		return "", pending{}, err
	}
	// What takes its time and may fail comes first: the person can press again.
	if answer == answerAllow && p.Offered != "" {
		if err := s.onboard(c.Request().Context(), p); err != nil {
			return "", pending{}, toldOf(err, p.Ask)
		}
	}
	p, err = s.resume(c, login, stageAgree, s.Store.Take)
	return answer, p, err
}

// actOf returns what a person answered, for the audit trail.
func (s *Server) actOf(answer string, p pending) surface.Act {
	act := actDeny
	if answer == answerAllow {
		act = actAllow
	}
	return s.loginAct(act, *p.Who, p.Ask.Client.ID, p.Ask.Resource)
}

// loginAct returns an act of a person's.
func (s *Server) loginAct(name string, who flow.Identity, on, resource string) surface.Act {
	user, _ := userOf(resource, s.Issuer)
	return surface.Act{Name: name, On: on, Login: oauth.KeyOf(who.Issuer, who.Subject).String(), User: string(user)}
}

// stillMay reports whether a person with these bridges may still use a
// resource.
func (s *Server) stillMay(users []v1alpha1.UserID, resource string) bool {
	user, _ := userOf(resource, s.Issuer)
	if user == "" {
		return len(users) > 0
	}
	return slices.Contains(users, user)
}
