// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// access decides which callers and which pages may call.
type access struct {
	authn   *authn.Authenticator
	origins *authn.Origins
	oauth   *authn.OAuth // nil where there are no logins
	// forms refuses the forms of other sites' pages.
	forms *http.CrossOriginProtection
}

func (a *access) checkOrigin(r *request) error { return a.origins.Check(r.http) }

func (a *access) checkHost(r *request) error { return a.origins.CheckHost(r.http) }

// checkOwnPage refuses what another site's page sends. Browsers name the page's
// site with everything but a GET; the feature's own tokens are the second guard.
func (a *access) checkOwnPage(r *request) error {
	values := r.http.Header["Origin"]
	if len(values) == 0 || len(values) == 1 && strings.EqualFold(values[0], a.publicURL()) {
		return nil
	}
	return problems.OriginNotAllowed
}

// checkSameSite refuses the forms of pages of other sites: browsers name the site or the
// origin of a form. It goes by the host of the request, since an installation without
// logins need not know its own address; the cookie of a session belongs to that host too.
func (a *access) checkSameSite(r *request) error {
	if a.forms.Check(r.http) != nil {
		return problems.OriginNotAllowed
	}
	return nil
}

// authenticate sets the caller for later steps.
func (a *access) authenticate(r *request) error {
	var err error
	r.caller, r.admitted, err = a.authn.Authenticate(r.context(), authn.Attempt{
		Header: r.http.Header, Source: r.source, User: r.pathUser(), Endpoint: endpointOf(r),
	})
	return err
}

// requireAdmin returns the step that sets the administrator for later steps, who has the
// role admin or one of these.
func (a *access) requireAdmin(roles []oauth.Role) step {
	return func(r *request) error {
		var err error
		if r.administrator, err = a.authn.Administrator(r.context(), r.http.Header, r.source); err != nil {
			return err
		}
		if !r.administrator.May(roles) {
			return problems.RoleNeeded.Saying(roleNeeded(roles))
		}
		return nil
	}
}

// roleNeeded says which roles suffice.
func roleNeeded(roles []oauth.Role) string {
	names := []string{string(oauth.RoleAdmin)}
	for _, role := range roles {
		names = append(names, string(role))
	}
	return "This needs the role " + strings.Join(names, " or ") + "."
}

// publicURL is where users reach the installation, empty where there are no
// logins.
func (a *access) publicURL() string {
	if a.oauth == nil {
		return ""
	}
	return a.oauth.PublicURL
}

// endpointOf is the endpoint to which what a request asks for belongs: what else a
// user has beside MCP belongs to their MCP URL.
func endpointOf(r *request) string {
	if strings.HasSuffix(r.http.URL.Path, ssePath) {
		return ssePath
	}
	return endpointMCP
}

// checkScope refuses calls of tools by a token that does not allow them.
func checkScope(r *request) error {
	if r.principal().MayCall() {
		return nil
	}
	messages := r.requests()
	for i := range messages {
		if messages[i].IsToolCall() {
			return problems.Insufficient
		}
	}
	return nil
}

// checkManage refuses access tokens that do not allow to change a bridge.
func checkManage(r *request) error {
	if !r.principal().MayManage() {
		return problems.ManageNeeded
	}
	return nil
}

// tokenRoutes are those that take access tokens.
var tokenRoutes = []string{routeMCP, routeSSE, routeHealth, routeSelf, routeSecrets}

// challenge has the answer say where and for what a token can be had, if it is a
// refusal that a token would mend.
func (a *access) challenge(r *request, p *httpapi.Problem) {
	if a.oauth == nil || p.Status != http.StatusUnauthorized && !errors.Is(p, problems.Insufficient) {
		return
	}
	if !slices.Contains(tokenRoutes, r.route) {
		return
	}
	code := ""
	switch {
	case errors.Is(p, problems.Insufficient):
		code = p.Code
	case authn.Credential(r.http.Header) != "":
		code = "invalid_token"
	}
	metadata := a.oauth.PublicURL + oauth.MetadataPath(authn.ResourcePath(r.pathUser(), endpointOf(r)))
	scopes := a.oauth.Scopes
	if p == problems.ManageNeeded {
		scopes = append(slices.Clone(scopes), oauth.ScopeManage)
	}
	r.w.Header().Set("WWW-Authenticate", oauth.Challenge(metadata, code, "", scopes))
}

// resourceMetadata answers where tokens for a user's URL are to be had. It is the
// same whether or not there is such a user.
func (a *access) resourceMetadata(r *request) error {
	resource := oauth.Resource(a.oauth.PublicURL, strings.TrimPrefix(r.http.URL.Path, oauth.MetadataPath("")))
	h := r.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "max-age=300")
	_, err := r.w.Write(oauth.ProtectedResource(resource, a.oauth.Name, a.oauth.Servers, a.oauth.Scopes))
	return err
}
