// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Administrator is who administers the installation, by the admin key or by a login.
type Administrator struct {
	principal audit.Principal
	roles     []oauth.Role
}

// Audited returns a as an audit entry has it.
func (a Administrator) Audited() audit.Principal { return a.principal }

// May reports whether a may do what these roles may, beside oauth.RoleAdmin.
func (a Administrator) May(roles []oauth.Role) bool {
	return slices.ContainsFunc(a.roles, func(r oauth.Role) bool { return r == oauth.RoleAdmin || slices.Contains(roles, r) })
}

// Administrator returns the caller with the installation's admin key, or with an access
// token for oauth.AdminPath.
func (a *Authenticator) Administrator(ctx context.Context, header http.Header, source netip.Addr) (Administrator, error) {
	presented := Credential(header)
	if a.takesToken(presented) {
		return a.verifyAdministrator(ctx, presented, source)
	}
	key := a.adminKey()
	if len(key) == 0 {
		return Administrator{}, problems.AdminDisabled
	}
	// Match hashes what was presented, so that neither length nor content of
	// the key show in the time it takes.
	if _, ok := apikey.Match(presented, []apikey.Hash{apikey.HashOf(string(key))}); !ok {
		return Administrator{}, a.Refuse(source, presented, "")
	}
	return Administrator{principal: audit.Principal{Kind: audit.KindAdminKey}, roles: []oauth.Role{oauth.RoleAdmin}}, nil
}

func (a *Authenticator) verifyAdministrator(ctx context.Context, presented string, source netip.Addr) (Administrator, error) {
	token, err := a.oauth.Tokens.Verify(ctx, presented, oauth.Resource(a.oauth.PublicURL, oauth.AdminPath), time.Now())
	switch {
	case errors.Is(err, oauth.ErrKeysAway):
		return Administrator{}, fmt.Errorf("%w: %w", problems.LoginAway, err)
	case errors.Is(err, oauth.Expired):
		return Administrator{}, problems.Unauthorized
	case err != nil, !token.Own, len(token.Roles) == 0:
		return Administrator{}, a.Refuse(source, presented, "")
	}
	t := a.routes.Current()
	if t == nil {
		return Administrator{}, problems.NotReady
	}
	if !t.IsOpen(route.Person{Subject: token.Subject, Since: token.Issued}) {
		return Administrator{}, problems.Unauthorized
	}
	who := audit.Principal{Kind: audit.KindOAuth, ID: token.Subject.String(), Issuer: token.Issuer, Role: string(token.Roles[0])}
	return Administrator{principal: who, roles: token.Roles}, nil
}
