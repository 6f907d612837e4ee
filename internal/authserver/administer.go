// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// administratorClient is the client of tokens that the page of administrators shows.
const administratorClient = "administrator"

// SharedServers finds the SharedServers whose owners are a group of the issuer.
type SharedServers interface {
	OwnedBy(ctx context.Context, issuer string, groups []string) ([]flow.SharedServer, error)
}

var errNoRole = refusePage(statusForbidden, "You are no administrator here", "None of your groups has a role or owns a SharedServer. Ask whoever runs this installation, and tell them who you are here.")

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

// showToken shows a token to an administrator who logged in, and another one to an owner of
// SharedServers. Their roles and what they own are those of the groups that the provider has
// just named.
func (s *administerHandler) showToken(c httpapi.Call, who flow.Identity) error {
	shown := administratorPage{
		heading: s.pages.Titled("Administrator"), Person: who.Name, Roles: flow.RolesOf(s.Roles, who), Minutes: int(s.AccessToken / time.Minute), Address: s.Issuer,
	}
	names, scopes, err := s.sharedOf(c.Request().Context(), who)
	if err != nil {
		return err
	}
	shown.Shared = names
	if len(shown.Roles) == 0 && len(names) == 0 {
		return errNoRole.withPerson(who)
	}
	if len(shown.Roles) > 0 {
		if shown.Token, err = s.tokenFor(c, who, oauth.AdminPath, claims{Roles: shown.Roles}); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		if shown.SharedToken, err = s.tokenFor(c, who, oauth.SharedPath, claims{Scope: strings.Join(scopes, " ")}); err != nil {
			return err
		}
	}
	return s.pages.Show(c, s.pages.AdministratorPage, statusOK, "", shown)
}

// tokenFor signs a token for one path, and notes it in the audit trail.
func (s *administerHandler) tokenFor(c httpapi.Call, who flow.Identity, path string, of claims) (string, error) {
	resource := oauth.Resource(s.Issuer, path)
	of.Subject, of.Audience, of.Client = loginOf(who), []string{resource}, administratorClient
	token, err := s.signToken(c.Request().Context(), of)
	if err != nil {
		return "", err
	}
	return token, c.Audit(s.loginAct(actAdminister, who, flow.JoinRoles(of.Roles), resource))
}

// sharedOf returns the SharedServers that the person owns by the groups that the provider has
// just named, and the scopes that name them.
func (s *administerHandler) sharedOf(ctx context.Context, who flow.Identity) (names, scopes []string, err error) {
	if s.Shared == nil || len(who.Groups) == 0 {
		return nil, nil, nil
	}
	owned, err := s.Shared.OwnedBy(ctx, who.Issuer, who.Groups)
	for _, o := range owned[:min(len(owned), oauth.MaxShared)] {
		names, scopes = append(names, o.Name), append(scopes, oauth.SharedScope(o.UID))
	}
	return names, scopes, err
}
