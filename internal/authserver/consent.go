// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

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
	// actAdminister is that an administrator gets a token.
	actAdminister = "administer"
)

// scopeWords are what scopes let a program do, in words.
var scopeWords = map[string]string{
	oauth.ScopeRead:   "See which tools, resources and prompts there are, and read resources",
	oauth.ScopeCall:   "Call tools, which may change things in what you have connected",
	oauth.ScopeManage: "Change your bridge: make and revoke API keys, set secrets, disconnect accounts, turn servers on and off, and see what was done with it",
}

// consentHandler asks a person for consent and makes the grant.
type consentHandler struct {
	*core
	*loginSessions
}

// askPerson asks the person who logged in whether they agree. It does so each
// time: providers log people in without a word, and another program could ask
// under the id of one that they agreed to.
func (s *consentHandler) askPerson(c httpapi.Call, p loginSession, provider flow.Provider, who flow.Identity) error {
	may, err := s.choiceFor(c.Request().Context(), who, p.Ask.Resource)
	if err != nil {
		return linkedToClient(err, p.Ask)
	}
	p.Offered = may.Offered
	secret, err := s.saveFor(c, p, who, stageAgree)
	if err != nil {
		return err
	}
	data := s.consentOf(p.Ask)
	data.Person, data.Provider, data.Bridges, data.Login = who.Name, provider.Name(), shownBridges(may), secret
	return s.pages.Show(c, s.pages.ConsentPage, statusOK, formTargets(p.Ask.Redirect), data)
}

// choiceFor returns what a person may agree to for a resource.
func (s *consentHandler) choiceFor(ctx context.Context, who flow.Identity, resource string) (bridgeChoice, error) {
	user, _ := userOf(resource, s.Issuer)
	may, err := choiceOf(ctx, s.Users, who, user)
	if errors.Is(err, errNotTheirs) {
		return may, errNotOne.withPerson(who)
	}
	return may, notGiven(err, who)
}

// notGiven returns the error for a person who cannot get a bridge.
func notGiven(err error, who flow.Identity) error {
	if errors.Is(err, flow.ErrNotInvited) {
		return errNone.withPerson(who)
	}
	return err
}

// agreedTo returns the bridge that a person chose on a consent page, and makes it if it
// is the one that they were offered. If they may choose another one now, they did not
// agree to that.
func (s *consentHandler) agreedTo(ctx context.Context, p loginSession, chosen string) (flow.Bridge, error) {
	return s.agreedAt(ctx, p, p.Ask.Resource, chosen)
}

// agreedAt is agreedTo for a resource.
func (s *consentHandler) agreedAt(ctx context.Context, p loginSession, resource, chosen string) (flow.Bridge, error) {
	may, err := s.choiceFor(ctx, *p.Who, resource)
	if err != nil {
		return flow.Bridge{}, err
	}
	if b, ok := may.Find(chosen, p.Offered); ok {
		return b, nil
	}
	if chosen != newBridge || may.Offered == "" || may.Offered != p.Offered {
		return flow.Bridge{}, errOver
	}
	b, err := s.Users.Onboard(ctx, *p.Who, flow.Invited{})
	if err != nil {
		err = fmt.Errorf("onboard: %w", err)
	}
	return b, notGiven(err, *p.Who)
}

// shownBridges returns what a consent page shows of a choice, the bridge that would be
// made first.
func shownBridges(may bridgeChoice) []bridgeOption {
	var options []bridgeOption
	if may.Offered != "" {
		options = append(options, bridgeOption{Value: newBridge, User: may.Offered, Offered: true})
	}
	for _, b := range may.Bridges {
		options = append(options, optionOf(b))
	}
	return options
}

// optionOf returns what pages show of a bridge.
func optionOf(b flow.Bridge) bridgeOption {
	return bridgeOption{Value: string(b.UID), User: b.User, Namespace: b.Namespace, Onboarded: b.Onboarded, Foreign: !b.Trusted && !b.Onboarded}
}

// consentOf returns the page of what a client asks for.
func (s *consentHandler) consentOf(a *authorizationRequest) consentPage {
	data := consentPage{
		heading:      s.pages.Titled("Let " + a.Client.ShownName() + " in?"),
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

// consentAnswer is a person's answer to a consent page, with their login, which is over
// by it.
type consentAnswer struct {
	text  string
	login loginSession
	// bridge is the one that they allow their program to use.
	bridge flow.Bridge
}

// consent takes the person's answer. The secret of the login is in the page alone,
// which proves that it is their answer.
func (s *consentHandler) consent(c httpapi.Call) error {
	answer, err := s.readAnswer(c)
	if err != nil {
		return err
	}
	if err := c.Audit(s.actOf(answer)); err != nil {
		return err
	}
	ask := answer.login.Ask
	if answer.text == answerDeny {
		return &clientError{*ask, codeAccessDenied, "The person said no."}
	}
	code, err := s.grant(c.Request().Context(), answer)
	if errors.Is(err, client.ErrNotFound) {
		return errAskClient
	}
	if err != nil {
		return err
	}
	to := ask.answer(s.Issuer)
	to.Set(parameterCode, code)
	redirect(c, client.AddQuery(ask.Redirect, to))
	return nil
}

// grant stores what a person agreed to, and returns the code for it, or
// client.ErrNotFound if the client no longer exists.
func (s *consentHandler) grant(ctx context.Context, a consentAnswer) (code string, err error) {
	p := a.login
	if err := s.clients.Use(ctx, p.Ask.Client.ID); err != nil {
		return "", err
	}
	g := grant.Grant{
		Client: p.Ask.Client.ID, Redirect: p.Ask.Redirect, Challenge: p.Ask.Challenge,
		Resource: p.Ask.Resource, Scopes: p.Ask.Scopes, Who: *p.Who, Provider: p.Provider, Version: p.Version,
		Began: p.Came, Offered: p.Offered != "" && p.Offered == a.bridge.User,
	}
	if user, _ := userOf(g.Resource, s.Issuer); user == "" {
		g.Bridge, g.User = a.bridge.UID, a.bridge.User
	}
	given, err := s.grants.Create(ctx, g)
	return given.Text(), err
}

// readAnswer returns a person's answer.
func (s *consentHandler) readAnswer(c httpapi.Call) (a consentAnswer, err error) {
	body, err := c.Body()
	if err != nil {
		return consentAnswer{}, err
	}
	q, ok := flow.ParseParameters(string(body))
	a.text = q.Get(parameterAnswer)
	if !ok || q.Repeated(parameterAnswer, parameterLogin, parameterBridge) || a.text != answerAllow && a.text != answerDeny {
		return consentAnswer{}, errOver
	}
	login := q.Get(parameterLogin)
	if a.login, err = s.resume(c, login, stageAgree); err != nil {
		return consentAnswer{}, err
	}
	// What takes its time and may fail comes first: the person can press again.
	if a.text == answerAllow {
		if a.bridge, err = s.agreedTo(c.Request().Context(), a.login, q.Get(parameterBridge)); err != nil {
			return consentAnswer{}, linkedToClient(err, a.login.Ask)
		}
	}
	return a, s.finish(c, login, a.login)
}

// actOf returns what a person answered, for the audit trail.
func (s *consentHandler) actOf(a consentAnswer) httpapi.Act {
	name := actDeny
	if a.text == answerAllow {
		name = actAllow
	}
	act := s.loginAct(name, *a.login.Who, a.login.Ask.Client.ID, a.login.Ask.Resource)
	act.User = cmp.Or(act.User, string(a.bridge.User))
	return act
}

// loginAct returns an act of a person's.
func (s *core) loginAct(name string, who flow.Identity, on, resource string) httpapi.Act {
	user, _ := userOf(resource, s.Issuer)
	return httpapi.Act{Name: name, Target: on, Login: loginOf(who), User: string(user)}
}

// loginOf returns the text of a person's subject key, by which tokens, the audit trail and
// the log name them.
func loginOf(who flow.Identity) string { return oauth.KeyOf(who.Issuer, who.Subject).String() }
