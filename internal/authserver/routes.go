// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"regexp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// The paths.
const (
	pathMetadata   = "/.well-known/oauth-authorization-server"
	pathOpenID     = "/.well-known/openid-configuration"
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
	pathAdminister = "/oauth/admin"
	pathCommon     = "/mcp"
)

// ConsolePath is where a login to the users' console begins.
const ConsolePath = "/oauth/console"

// The sizes of bodies, in bytes.
const (
	// maxForm holds a code or a token, a redirect URI, a client's URL and a
	// resource, in percent encoding.
	maxForm = 16 << 10
	// maxRegistration holds what clients register with: mostly redirect URIs.
	maxRegistration = 64 << 10
)

const (
	// maxPath holds the longest provider's name.
	maxPath = 128
	// maxQuery holds what clients send to be authorized. A redirect URI and a
	// state may each have 2 KiB of it, in percent encoding.
	maxQuery = 8192
)

// Feature returns the server as a feature of the surface, without limits of rates.
func (s *Server) Feature() httpapi.Feature {
	return httpapi.Feature{Name: "login", Routes: s.Routes(), Target: s.Target, MaxPath: maxPath, MaxQuery: maxQuery, ShowProblem: s.pages.ShowProblem}
}

// Routes returns what the server serves.
func (s *Server) Routes() []httpapi.Route {
	get, post := http.MethodGet, http.MethodPost
	routes := []httpapi.Route{
		{Method: get, Path: pathMetadata, Access: httpapi.Public, Handle: s.serveMetadata},
		{Method: get, Path: pathOpenID, Access: httpapi.Public, Handle: s.serveMetadata}, // Some tools know no other place.
		{Method: get, Path: pathKeys, Access: httpapi.Public, Handle: s.serveKeys},

		{Method: get, Path: pathAuthorize, Access: httpapi.Page, Handle: s.htmlEndpoint(stepAuthorize, s.authorize)},
		{Method: get, Path: pathLogin + ":provider", Access: httpapi.Page, Handle: s.htmlEndpoint(stepLogin, s.login)},
		{Method: get, Path: pathCallback + ":provider", Access: httpapi.Page, Handle: s.htmlEndpoint(stepCallback, s.callback)},
		{Method: post, Path: pathCallback + ":provider", Access: httpapi.Program, Form: true, MaxBody: maxForm, Handle: s.callbackForm},
		{Method: post, Path: pathConsent, Access: httpapi.Page, Form: true, MaxBody: maxForm, Handle: s.htmlEndpoint(stepConsent, s.consent)},

		{Method: post, Path: pathToken, Access: httpapi.Program, Form: true, LetsIn: true, MaxBody: maxForm, Handle: s.jsonEndpoint(stepToken, s.token)},
		{Method: post, Path: pathRevoke, Access: httpapi.Program, Form: true, MaxBody: maxForm, Handle: s.jsonEndpoint(stepRevoke, s.revoke)},

		{Method: http.MethodDelete, Path: "/admin/users/:userId/logins", Access: httpapi.Admin, Handle: s.endLogins},
	}
	if s.administers() {
		routes = append(routes, httpapi.Route{Method: get, Path: pathAdminister, Access: httpapi.Page, Handle: s.htmlEndpoint(stepAdminister, s.administer)})
	}
	if s.Administers() {
		routes = append(routes, httpapi.Route{Method: get, Path: AdministratorsPath, Access: httpapi.Page, Handle: s.htmlEndpoint(stepAdminister, s.administer)})
	}
	if s.Console != nil {
		routes = append(routes,
			httpapi.Route{Method: get, Path: ConsolePath, Access: httpapi.Page, Handle: s.htmlEndpoint(stepConsole, s.console)},
			httpapi.Route{Method: post, Path: ConsolePath, Access: httpapi.Page, Form: true, MaxBody: maxForm, Handle: s.htmlEndpoint(stepConsole, s.chooseBridge)})
	}
	if s.Invitations {
		routes = append(routes,
			httpapi.Route{Method: get, Path: pathInvitation, Access: httpapi.Page, Handle: s.htmlEndpoint(stepInvitation, s.invitation)},
			httpapi.Route{Method: post, Path: "/admin/users/:userId/invitations", Access: httpapi.Admin, Handle: s.invite})
	}
	if s.Registration.Enabled {
		routes = append(routes, httpapi.Route{Method: post, Path: pathRegister, Access: httpapi.Program, Rare: true, MaxBody: maxRegistration, Handle: s.jsonEndpoint(stepRegister, s.register)})
	}
	if s.Connections != nil {
		routes = append(routes,
			httpapi.Route{Method: get, Path: v1alpha1.ConnectPath + ":userId/:server", Access: httpapi.Page, Handle: s.htmlEndpoint(stepConnect, s.connect)},
			httpapi.Route{Method: post, Path: pathAccount, Access: httpapi.Page, Form: true, MaxBody: maxForm, Handle: s.htmlEndpoint(stepConnect, s.goToAccount)},
			httpapi.Route{Method: get, Path: pathConnected + ":place", Access: httpapi.Page, Handle: s.htmlEndpoint(stepConnected, s.connected)})
	}
	return routes
}

// administers reports whether anybody may get a token on the page of administrators.
func (s *Server) administers() bool { return len(s.Roles) > 0 || s.Shared != nil }

// The forms of the known paths, with a query and without.
var (
	asked = regexp.MustCompile(`^/oauth/(authorize|invitation|(login|callback)/[a-z0-9-]{1,32})$`)
	plain = regexp.MustCompile(`^(/\.well-known/(oauth-authorization-server|openid-configuration)|/oauth/(jwks|consent|token|revoke|register)` +
		`|/admin/users/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/(invitations|logins))$`)
	// connecting are those of servers' accounts, the last of which has a query.
	connecting = regexp.MustCompile(`^(` + pathAccount + `|` + v1alpha1.ConnectPath + `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/` + v1alpha1.ServerNamePattern + `)$`)
	returning  = regexp.MustCompile(`^` + pathConnected + `[a-z0-9._~-]{1,100}$`)
)

// queryForm is the form of a query. Of the characters that clients and providers
// leave as they are it has those that mean nothing there, and the equals sign,
// which all readers take for a part of the value behind the first one.
var queryForm = regexp.MustCompile(`^` + parameter + `(&` + parameter + `)*$`)

const parameter = `[A-Za-z0-9][A-Za-z0-9_.-]*(=([A-Za-z0-9_.:~+!*'()@/,?$=-]|%[0-9A-Fa-f]{2})*)?`

// Administers reports whether people with roles log in to the administrators' console.
func (s *Server) Administers() bool { return len(s.Roles) > 0 && s.Administrators != nil }

// Target reports whether a path is the server's, and which form its query has.
func (s *Server) Target(path string) (query *regexp.Regexp, ok bool) {
	switch {
	case asked.MatchString(path):
		return queryForm, true
	case connecting.MatchString(path):
		return nil, s.Connections != nil
	case path == pathAdminister:
		return nil, s.administers()
	case path == AdministratorsPath:
		return queryForm, s.Administers()
	case path == ConsolePath:
		return queryForm, s.Console != nil
	case returning.MatchString(path):
		return queryForm, s.Connections != nil
	}
	return nil, plain.MatchString(path) && (path != pathRegister || s.Registration.Enabled)
}
