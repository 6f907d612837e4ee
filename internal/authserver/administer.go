// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/webpage"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// administratorClient is the client of tokens that the page of administrators shows.
const administratorClient = "administrator"

var errNoRole = refusePage(statusForbidden, "You are no administrator here", "No group that the provider names of you has a role. Ask whoever runs this installation, and tell them who you are here.")

// administerHandler gives tokens to administrators. They get them on a page, and no client
// can ask for one: a person could take a foreign program for the installation's own.
type administerHandler struct {
	*core
	*loginSessions
	*providerLogin
}

// AdministratorsPath is where a login to the administrators' console begins.
const AdministratorsPath = pathAdminister + "/console"

// AdministratorLogin begins a session of the administrators' console for a person who logged
// in, and sends the browser to a page of it.
type AdministratorLogin func(c httpapi.Call, who httpapi.Administrator, next string) error

// administer is where an administrator begins, who wants a token or the console.
func (s *administerHandler) administer(c httpapi.Call) error {
	p, err := s.newConsoleSession(c)
	if err != nil {
		return err
	}
	p.Administers, p.Console = true, c.Request().URL.Path == AdministratorsPath
	return s.chooseProvider(c, p)
}

// enterAdministrator begins the session of an administrator who logged in. Their roles are
// those of the groups that the provider has just named, and end with the session.
func (s *administerHandler) enterAdministrator(c httpapi.Call, p loginSession, who flow.Identity) error {
	key := oauth.KeyOf(who.Issuer, who.Subject)
	a := httpapi.Administrator{Subject: &key, Roles: flow.RolesOf(s.Roles, who), Since: s.Now()}
	if len(a.Roles) == 0 {
		return errNoRole.withPerson(who)
	}
	if err := c.Audit(s.loginAct(actAdminister, who, flow.JoinRoles(a.Roles), oauth.Resource(s.Issuer, "/console"))); err != nil {
		return err
	}
	return s.Administrators(c, a, p.Next)
}

// showToken shows a token to an administrator who logged in. Their roles are those of the
// groups that the provider has just named.
func (s *administerHandler) showToken(c httpapi.Call, who flow.Identity) error {
	roles := flow.RolesOf(s.Roles, who)
	if len(roles) == 0 {
		return errNoRole.withPerson(who)
	}
	resource := oauth.Resource(s.Issuer, oauth.AdminPath)
	token, err := s.signToken(c.Request().Context(), claims{
		Subject: loginOf(who), Audience: []string{resource}, Client: administratorClient, Roles: roles,
	})
	if err != nil {
		return err
	}
	if err := c.Audit(s.loginAct(actAdminister, who, flow.JoinRoles(roles), resource)); err != nil {
		return err
	}
	return s.pages.Show(c, s.pages.AdministratorPage, statusOK, "", webpage.Administrator{
		Heading: s.pages.Titled("Administrator"), Person: who.Name, Roles: roles, Token: token,
		Minutes: int(s.AccessToken / time.Minute), Address: s.Issuer,
	})
}
