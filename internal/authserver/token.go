// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The refusals of the token endpoint. Of a code or a token that is not good they do
// not tell why.
var (
	errCode     = newJSONError(codeInvalidGrant, "The code is not good: it is used up, too old, or for another client or redirect_uri, or code_verifier is not that of its code_challenge.")
	errRefresh  = newJSONError(codeInvalidGrant, "The refresh token is not good: it is used up, too old, of another client, or its person may use the bridge no more. Have them log in.")
	errTarget   = newJSONError(codeInvalidTarget, "resource is not that for which the person agreed.")
	errScope    = newJSONError(codeInvalidScope, "The person did not agree to so much.")
	errVerifier = newJSONError(codeInvalidRequest, "code_verifier must be 43 to 128 letters, digits and -._~.")
	errGrant    = newJSONError(codeUnsupportedGrant, "grant_type must be authorization_code or refresh_token.")
	errNoGrants = newJSONError(codeInvalidRequest, "grant_type is missing.")
)

// tokenAnswer is RFC 6749, section 5.1.
type tokenAnswer struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
}

// claims are those of an access token (RFC 9068, section 2.2).
type claims struct {
	Issuer   string          `json:"iss"`
	Subject  string          `json:"sub"`
	Audience []string        `json:"aud"`
	Client   string          `json:"client_id"`
	Scope    string          `json:"scope"`
	ID       string          `json:"jti"`
	Issued   int64           `json:"iat"`
	Expires  int64           `json:"exp"`
	User     v1alpha1.UserID `json:"hb_user,omitempty"`
	Bridge   types.UID       `json:"hb_bridge,omitempty"`
	Roles    []oauth.Role    `json:"hb_roles,omitempty"`
}

// tokenHandler answers the token and the revocation endpoint, and ends logins.
type tokenHandler struct{ *core }

// token is the token endpoint.
func (s *tokenHandler) token(c httpapi.Call) (jsonAnswer, error) {
	p, clientID, err := programForm(c)
	if err != nil {
		return jsonAnswer{}, err
	}
	switch p.Get("grant_type") {
	case grantCode:
		return s.redeem(c, p, clientID)
	case grantRefresh:
		return s.refresh(c, p, clientID)
	case "":
		return jsonAnswer{}, errNoGrants
	default:
		return jsonAnswer{}, errGrant
	}
}

// programForm returns what a client sends, and its id. A client that sends a
// secret takes us for another server, or itself for another client; it is refused
// before anything is used up, since some try one way after the other.
func programForm(c httpapi.Call) (p flow.Parameters, clientID string, err error) {
	p, err = form(c)
	if err != nil {
		return flow.Parameters{}, "", err
	}
	if c.Request().Header.Get("Authorization") != "" || p.Get("client_secret") != "" || p.Get("client_assertion") != "" {
		return flow.Parameters{}, "", errSecret
	}
	if clientID = p.Get(parameterClient); clientID == "" {
		return flow.Parameters{}, "", errNoClientID
	}
	return p, clientID, nil
}

// verifierForm is RFC 7636, section 4.1.
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// redeem gives tokens for a code (RFC 6749, section 4.1.3). What is not good is
// refused before the code is used up, so that whoever has a code and nothing else
// cannot keep the client from its tokens.
func (s *tokenHandler) redeem(c httpapi.Call, p flow.Parameters, clientID string) (jsonAnswer, error) {
	presented, err := grant.ParseCredential(grant.Code, p.Get(parameterCode))
	if err != nil {
		return jsonAnswer{}, errCode
	}
	ctx := c.Request().Context()
	g, err := s.grants.Load(ctx, presented)
	if errors.Is(err, grant.ErrNotFound) {
		return jsonAnswer{}, errCode
	}
	if err != nil {
		return jsonAnswer{}, err
	}
	if !g.HasCode(presented) {
		return jsonAnswer{}, errCode
	}
	if g.Redeemed() {
		return jsonAnswer{}, s.endReplayed(c, g, presented.Kind)
	}
	if err := s.checkCode(g.Grant, p, clientID); err != nil {
		return jsonAnswer{}, err
	}
	if err := s.checkRedeemable(ctx, &g); err != nil {
		return jsonAnswer{}, err
	}
	return s.issue(c, g, presented, g.Scopes)
}

// checkRedeemable returns why a grant gives no tokens for its code.
func (s *tokenHandler) checkRedeemable(ctx context.Context, g *grant.Stored) error {
	if g.Resource == oauth.Resource(s.Issuer, pathCommon) && g.Bridge == "" {
		if err := s.checkBridge(ctx, g, errCode); err != nil {
			return err
		}
	}
	ended, err := s.isEnded(ctx, g.Grant)
	if ended {
		return s.end(ctx, *g, errCode)
	}
	return err
}

// checkCode returns why a code is not good for a request. OAuth 2.1 has no
// redirect_uri here, for which PKCE stands; one that is sent must be that of the
// authorization request.
func (s *tokenHandler) checkCode(g grant.Grant, p flow.Parameters, clientID string) error {
	uri, verifier := p.Get(parameterRedirect), p.Get("code_verifier")
	if !verifierForm.MatchString(verifier) {
		return errVerifier
	}
	switch {
	case clientID != g.Client, uri != "" && uri != g.Redirect, !s.Now().Before(g.CodeEnds):
		return errCode
	case !flow.Same(oauth2.S256ChallengeFromVerifier(verifier), g.Challenge):
		return errCode
	}
	return checkTarget(g, p)
}

// checkTarget refuses a request that is about another resource than the grant.
func checkTarget(g grant.Grant, p flow.Parameters) error {
	for _, resource := range p.All(parameterResource) {
		if resource != g.Resource {
			return errTarget
		}
	}
	return nil
}

// refresh gives tokens for a refresh token (RFC 6749, section 6).
func (s *tokenHandler) refresh(c httpapi.Call, p flow.Parameters, clientID string) (jsonAnswer, error) {
	presented, err := grant.ParseCredential(grant.Refresh, p.Get("refresh_token"))
	if err != nil {
		return jsonAnswer{}, errRefresh
	}
	ctx := c.Request().Context()
	g, err := s.grants.Load(ctx, presented)
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return jsonAnswer{}, s.grantMissing(ctx, clientID)
	case err != nil:
		return jsonAnswer{}, err
	case clientID != g.Client, !g.Redeemed():
		return jsonAnswer{}, errRefresh
	}
	if !g.Refreshes(presented, s.Now()) {
		return jsonAnswer{}, s.endReplayed(c, g, presented.Kind)
	}
	if err := checkTarget(g.Grant, p); err != nil {
		return jsonAnswer{}, err
	}
	scopes, ok := scopesOf(p.Get(parameterScope), g.Scopes, g.Scopes)
	if !ok {
		return jsonAnswer{}, errScope
	}
	if err := s.checkGrant(ctx, &g); err != nil {
		return jsonAnswer{}, err
	}
	return s.issue(c, g, presented, scopes)
}

// grantMissing returns the error for a client whose grant was not found. A client that
// no longer exists gets another error, so that it registers again before its user has
// to log in.
func (s *tokenHandler) grantMissing(ctx context.Context, clientID string) error {
	err := s.clients.Check(ctx, clientID)
	if errors.Is(err, client.ErrNotFound) {
		return errUnknown
	}
	if err != nil {
		return err
	}
	return errRefresh
}

// checkGrant returns an error and ends the grant if the client no longer exists, the
// provider was removed, its configuration changed or it lets the person in no more, its
// maxAge is over, the
// person may no longer use the bridge, or an administrator has ended their logins.
func (s *tokenHandler) checkGrant(ctx context.Context, g *grant.Stored) error {
	err := s.clients.Use(ctx, g.Client)
	if errors.Is(err, client.ErrNotFound) {
		return s.end(ctx, *g, errUnknown)
	}
	if err != nil {
		return err
	}
	p := s.providers[g.Provider]
	if p == nil || p.Version() != g.Version {
		// The provider's word for the person's identity no longer counts.
		return s.end(ctx, *g, errRefresh)
	}
	if !s.Now().Before(g.Began.Add(s.known.LoginLasts(p))) {
		return s.end(ctx, *g, errRefresh)
	}
	if err := s.renew(ctx, p, g); err != nil {
		return err
	}
	if err := s.checkBridge(ctx, g, errRefresh); err != nil {
		return err
	}
	ended, err := s.isEnded(ctx, g.Grant)
	if ended {
		return s.end(ctx, *g, errRefresh)
	}
	return err
}

// checkBridge ends a grant with this refusal if its person may no longer use its
// bridge. It notes the bridge in a grant that does not name it.
func (s *tokenHandler) checkBridge(ctx context.Context, g *grant.Stored, refusal *jsonError) error {
	who := g.Who
	who.Since = g.Began
	bridges, err := s.Users.Bridges(ctx, who)
	if err != nil {
		return fmt.Errorf("look up bridges: %w", err)
	}
	user, _ := userOf(g.Resource, s.Issuer)
	b, ok := bridgeOf(bridges, user)
	if user == "" {
		b, ok = agreedBridge(bridges, g.Bridge, g.Who.User)
	}
	if !ok && g.Offered && s.Now().Before(g.CodeEnds) {
		comes, err := s.Users.MayCome(ctx, who, cmp.Or(user, g.User))
		if err != nil {
			return fmt.Errorf("look up access: %w", err)
		}
		if comes {
			return errUnavailable // This replica has not seen yet the bridge that was made a moment ago.
		}
	}
	if !ok {
		return s.end(ctx, *g, refusal)
	}
	if user == "" {
		g.Bridge, g.User = b.UID, b.User
	}
	return nil
}

// issue answers with an access token for these scopes and the grant's next refresh
// token. It makes the access token before it uses up the presented credential, so that
// a client that gets none can try again.
func (s *tokenHandler) issue(c httpapi.Call, g grant.Stored, presented grant.Credential, scopes []string) (jsonAnswer, error) {
	made := claims{
		Subject: loginOf(g.Who), Audience: []string{g.Resource}, Client: g.Client, Scope: strings.Join(scopes, " "),
		User: g.Who.User, Bridge: g.Bridge,
	}
	access, err := s.signToken(c.Request().Context(), made)
	if err != nil {
		return jsonAnswer{}, err
	}
	next, err := s.grants.Rotate(c.Request().Context(), g, presented)
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return jsonAnswer{}, refusalOf(presented.Kind)
	case errors.Is(err, grant.ErrReplayed):
		return jsonAnswer{}, s.endReplayed(c, g, presented.Kind)
	case err != nil:
		return jsonAnswer{}, err
	}
	return jsonAnswer{http.StatusOK, tokenAnswer{
		Access: access, Type: tokenBearer, ExpiresIn: int(s.AccessToken / time.Second),
		Refresh: next.Text(), Scope: made.Scope,
	}}, nil
}

// signToken returns an access token of these claims and those that all tokens have: the
// issuer, an id, and when it begins and ends.
func (s *core) signToken(ctx context.Context, of claims) (string, error) {
	id, err := s.secret()
	if err != nil {
		return "", err
	}
	now := s.Now()
	of.Issuer, of.ID, of.Issued, of.Expires = s.Issuer, id, now.Unix(), now.Add(s.AccessToken).Unix()
	token, err := s.Signer.Sign(ctx, jsondoc.EncodeExact(of))
	if err != nil {
		return "", fmt.Errorf("sign access token: %w", err)
	}
	return token, nil
}
