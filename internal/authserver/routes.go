// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"regexp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// The paths.
const (
	pathMetadata   = "/.well-known/oauth-authorization-server"
	pathKeys       = "/oauth/jwks"
	pathAuthorize  = "/oauth/authorize"
	pathLogin      = "/oauth/login/"
	pathCallback   = "/oauth/callback/"
	pathConsent    = "/oauth/consent"
	pathToken      = "/oauth/token"
	pathRevoke     = "/oauth/revoke"
	pathRegister   = "/oauth/register"
	pathInvitation = "/oauth/invitation"
	pathAccount    = "/oauth/account"
	pathConnected  = "/oauth/connected/"
	pathCommon     = "/mcp"
)

// The sizes of bodies, in bytes.
const (
	// maxForm holds a code or a token, a redirect URI, a client's URL and a
	// resource, in percent encoding.
	maxForm = 16 << 10
	// maxRegistration holds what clients register with, of which the redirect URIs
	// are the most.
	maxRegistration = 64 << 10
)

// Routes implements surface.Part.
func (s *Server) Routes() []surface.Route {
	get, post := http.MethodGet, http.MethodPost
	routes := []surface.Route{
		{Method: get, Path: pathMetadata, Access: surface.Public, Handle: s.serveMetadata},
		{Method: get, Path: pathKeys, Access: surface.Public, Handle: s.serveKeys},

		{Method: get, Path: pathAuthorize, Access: surface.Page, Handle: s.page(stepAuthorize, s.authorize)},
		{Method: get, Path: pathLogin + ":provider", Access: surface.Page, Handle: s.page(stepLogin, s.login)},
		{Method: get, Path: pathCallback + ":provider", Access: surface.Page, Handle: s.page(stepCallback, s.callback)},
		{Method: post, Path: pathConsent, Access: surface.Page, Form: true, MaxBody: maxForm, Handle: s.page(stepConsent, s.consent)},

		{Method: post, Path: pathToken, Access: surface.Program, Form: true, MaxBody: maxForm, Handle: s.program(stepToken, s.token)},
		{Method: post, Path: pathRevoke, Access: surface.Program, Form: true, MaxBody: maxForm, Handle: s.program(stepRevoke, s.revoke)},

		{Method: http.MethodDelete, Path: "/admin/users/:userId/logins", Access: surface.Admin, Handle: s.endLogins},
	}
	if s.Invitations {
		routes = append(routes,
			surface.Route{Method: get, Path: pathInvitation, Access: surface.Page, Handle: s.page(stepInvitation, s.invitation)},
			surface.Route{Method: post, Path: "/admin/users/:userId/invitations", Access: surface.Admin, Handle: s.invite})
	}
	if s.Registration.Enabled {
		routes = append(routes, surface.Route{Method: post, Path: pathRegister, Access: surface.Program, Rare: true, MaxBody: maxRegistration, Handle: s.program(stepRegister, s.register)})
	}
	if s.Connections != nil {
		routes = append(routes,
			surface.Route{Method: get, Path: v1alpha1.ConnectPath + ":userId/:server", Access: surface.Page, Handle: s.page(stepConnect, s.connect)},
			surface.Route{Method: post, Path: pathAccount, Access: surface.Page, Form: true, MaxBody: maxForm, Handle: s.page(stepConnect, s.goToAccount)},
			surface.Route{Method: get, Path: pathConnected + ":place", Access: surface.Page, Handle: s.page(stepConnected, s.connected)})
	}
	return routes
}

// The forms of the paths that there are, with a query and without.
var (
	asked = regexp.MustCompile(`^/oauth/(authorize|invitation|(login|callback)/[a-z0-9-]{1,32})$`)
	plain = regexp.MustCompile(`^(/\.well-known/oauth-authorization-server|/oauth/(jwks|consent|token|revoke|register)` +
		`|/admin/users/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/(invitations|logins))$`)
	// connecting are those of servers' accounts, the last of which has a query.
	connecting = regexp.MustCompile(`^(` + pathAccount + `|` + v1alpha1.ConnectPath + `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/` + serverName + `)$`)
	returning  = regexp.MustCompile(`^` + pathConnected + `[a-z0-9._~-]{1,100}$`)
)

// serverName is what spec.servers[].name may be.
const serverName = `[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?`

// queryForm is the form of a query. Of the characters that clients and providers
// leave as they are it has those that mean nothing there, and the equals sign,
// which all readers take for a part of the value behind the first one.
var queryForm = regexp.MustCompile(`^` + parameter + `(&` + parameter + `)*$`)

const parameter = `[A-Za-z0-9][A-Za-z0-9_.-]*(=([A-Za-z0-9_.:~+!*'()@/,?$=-]|%[0-9A-Fa-f]{2})*)?`

// Target implements surface.Part.
func (s *Server) Target(path string) (query *regexp.Regexp, ok bool) {
	switch {
	case asked.MatchString(path):
		return queryForm, true
	case connecting.MatchString(path):
		return nil, s.Connections != nil
	case returning.MatchString(path):
		return queryForm, s.Connections != nil
	}
	return nil, plain.MatchString(path) && (path != pathRegister || s.Registration.Enabled)
}
