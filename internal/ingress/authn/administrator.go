// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
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
	return httpapi.Administrator{Roles: a.roles}.May(roles)
}

// Administrator returns the caller with the installation's admin key, or with an access
// token for oauth.AdminPath.
func (a *Authenticator) Administrator(ctx context.Context, header http.Header, source netip.Addr) (Administrator, error) {
	presented := Credential(header)
	if a.takesToken(presented) {
		return a.verifyAdministrator(ctx, presented, source)
	}
	if err := a.checkAdminKey(presented, source); err != nil {
		return Administrator{}, err
	}
	return keyAdministrator(), nil
}

// checkAdminKey refuses what is not the installation's admin key.
func (a *Authenticator) checkAdminKey(presented string, source netip.Addr) error {
	key := a.adminKey()
	if len(key) == 0 {
		return problems.AdminDisabled
	}
	// Match hashes what was presented, so that neither length nor content of
	// the key show in the time it takes.
	if _, ok := apikey.Match(presented, []apikey.Hash{apikey.HashOf(string(key))}); !ok {
		return a.Refuse(source, presented, "")
	}
	return nil
}

// keyAdministrator is whoever has the admin key.
func keyAdministrator() Administrator {
	return Administrator{principal: audit.Principal{Kind: audit.KindAdminKey}, roles: []oauth.Role{oauth.RoleAdmin}}
}

// IdentifyAdministrator returns the administrator who entered the admin key, for a session.
func (a *Authenticator) IdentifyAdministrator(source netip.Addr, key string) (httpapi.Administrator, error) {
	if err := a.checkAdminKey(key, source); err != nil {
		return httpapi.Administrator{}, err
	}
	return httpapi.Administrator{KeyDigest: a.adminKeyDigest(), Roles: keyAdministrator().roles, Since: time.Now()}, nil
}

// adminKeyDigest returns a text by which a session knows the admin key again, empty while
// there is no key. The hash of the key stays here.
func (a *Authenticator) adminKeyDigest() string {
	key := a.adminKey()
	if len(key) == 0 {
		return ""
	}
	return digestOf(apikey.HashOf(string(key)))
}

// ResumeAdministrator returns the administrator of a session as the caller of a request, or
// problems.Unauthorized if the admin key is another one now, or the person's access or login
// ended. Roles are those of the login: nothing else names them.
func (a *Authenticator) ResumeAdministrator(of httpapi.Administrator) (Administrator, error) {
	if of.Subject == nil {
		if digest := a.adminKeyDigest(); digest == "" || digest != of.KeyDigest {
			return Administrator{}, problems.Unauthorized
		}
		return keyAdministrator(), nil
	}
	t := a.routes.Current()
	switch {
	case t == nil:
		return Administrator{}, problems.NotReady
	case a.oauth == nil || len(of.Roles) == 0 || !t.IsOpen(route.Person{Subject: *of.Subject, Since: of.Since}):
		return Administrator{}, problems.Unauthorized
	}
	who := audit.Principal{Kind: audit.KindOAuth, ID: of.Subject.String(), Issuer: a.oauth.PublicURL, Role: string(of.Roles[0])}
	return Administrator{principal: who, roles: of.Roles}, nil
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
