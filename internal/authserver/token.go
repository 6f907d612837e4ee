// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// The refusals of the token endpoint. Of a code or a token that is not good they do
// not tell why.
var (
	errCode     = refuseProgram(codeInvalidGrant, "The code is not good: it is used up, too old, or for another client or redirect_uri, or code_verifier is not that of its code_challenge.")
	errRefresh  = refuseProgram(codeInvalidGrant, "The refresh token is not good: it is used up, too old, of another client, or its person may use the bridge no more. Have them log in.")
	errTarget   = refuseProgram(codeInvalidTarget, "resource is not that for which the person agreed.")
	errScope    = refuseProgram(codeInvalidScope, "The person did not agree to so much.")
	errVerifier = refuseProgram(codeInvalidRequest, "code_verifier must be 43 to 128 letters, digits and -._~.")
	errGrant    = refuseProgram(codeUnsupportedGrant, "grant_type must be authorization_code or refresh_token.")
	errNoGrants = refuseProgram(codeInvalidRequest, "grant_type is missing.")
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
}

// token is the token endpoint.
func (s *Server) token(c surface.Call) (programAnswer, error) {
	p, client, err := programForm(c)
	if err != nil {
		return programAnswer{}, err
	}
	switch p.get("grant_type") {
	case grantCode:
		return s.redeem(c, p, client)
	case grantRefresh:
		return s.refresh(c, p, client)
	case "":
		return programAnswer{}, errNoGrants
	default:
		return programAnswer{}, errGrant
	}
}

// programForm returns what a client sends, and its id. A client that sends a
// secret takes us for another server, or itself for another client; it is refused
// before anything is used up, since some try one way after the other.
func programForm(c surface.Call) (p parameters, client string, err error) {
	p, err = form(c)
	if err != nil {
		return parameters{}, "", err
	}
	if c.Request().Header.Get("Authorization") != "" || p.get("client_secret") != "" || p.get("client_assertion") != "" {
		return parameters{}, "", errSecret
	}
	if client = p.get(parameterClient); client == "" {
		return parameters{}, "", errNoClientID
	}
	return p, client, nil
}

// verifierForm is RFC 7636, section 4.1.
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// redeem gives tokens for a code (RFC 6749, section 4.1.3). What is not good is
// refused before the code is used up, so that whoever has a code and nothing else
// cannot keep the client from its tokens.
func (s *Server) redeem(c surface.Call, p parameters, client string) (programAnswer, error) {
	presented, err := parseCredential(kindCode, p.get(parameterCode))
	if err != nil {
		return programAnswer{}, errCode
	}
	h, err := s.held(c.Request().Context(), presented)
	if errors.Is(err, errNoGrant) {
		return programAnswer{}, errCode
	}
	if err != nil {
		return programAnswer{}, err
	}
	if !same(h.Code, hashOf(presented.proof)) {
		return programAnswer{}, errCode
	}
	if h.Refresh != "" {
		return programAnswer{}, s.replayed(c, h, replayCode)
	}
	if err := s.checkCode(h.grant, p, client); err != nil {
		return programAnswer{}, err
	}
	over, err := s.ended(c.Request().Context(), h.grant)
	if over {
		return programAnswer{}, s.end(c.Request().Context(), h, errCode)
	}
	if err != nil {
		return programAnswer{}, err
	}
	return s.issue(c, h, presented, grantedAs{h.Scopes, replayCode})
}

// checkCode returns why a code is not good for a request. OAuth 2.1 has no
// redirect_uri here, for which PKCE stands; one that is sent must be that of the
// authorization request.
func (s *Server) checkCode(g grant, p parameters, client string) error {
	uri, verifier := p.get(parameterRedirect), p.get("code_verifier")
	if !verifierForm.MatchString(verifier) {
		return errVerifier
	}
	switch {
	case client != g.Client, uri != "" && uri != g.Redirect, !s.Now().Before(g.CodeEnds):
		return errCode
	case !same(oauth2.S256ChallengeFromVerifier(verifier), g.Challenge):
		return errCode
	}
	return checkTarget(g, p)
}

// checkTarget refuses a request that is about another resource than the grant.
func checkTarget(g grant, p parameters) error {
	for _, resource := range p.values[parameterResource] {
		if resource != g.Resource {
			return errTarget
		}
	}
	return nil
}

// refresh gives tokens for a refresh token (RFC 6749, section 6).
func (s *Server) refresh(c surface.Call, p parameters, client string) (programAnswer, error) {
	presented, err := parseCredential(kindRefresh, p.get("refresh_token"))
	if err != nil {
		return programAnswer{}, errRefresh
	}
	ctx := c.Request().Context()
	h, err := s.held(ctx, presented)
	switch {
	case errors.Is(err, errNoGrant):
		return programAnswer{}, s.forgotten(ctx, client)
	case err != nil:
		return programAnswer{}, err
	case client != h.Client, h.Refresh == "":
		return programAnswer{}, errRefresh
	}
	if _, again := h.again(presented.proof, s.Now()); !again && !same(h.Refresh, hashOf(presented.proof)) {
		return programAnswer{}, s.replayed(c, h, replayRefresh)
	}
	if err := checkTarget(h.grant, p); err != nil {
		return programAnswer{}, err
	}
	scopes, ok := scopesOf(p.get(parameterScope), h.Scopes)
	if !ok {
		return programAnswer{}, errScope
	}
	if err := s.stillGood(ctx, h); err != nil {
		return programAnswer{}, err
	}
	return s.issue(c, h, presented, grantedAs{scopes, replayRefresh})
}

// forgotten returns the error for a client that has nothing of a grant. One that
// is not known itself any more hears that, so that it registers anew before it
// sends its person here.
func (s *Server) forgotten(ctx context.Context, client string) error {
	err := s.stillClient(ctx, client)
	if errors.Is(err, errNoClient) {
		return errUnknown
	}
	if err != nil {
		return err
	}
	return errRefresh
}

// stillGood returns an error, and ends the grant, where the client is none any
// more, the provider is gone or configured in another way, the person may no more
// use what they granted, or an administrator has ended it.
func (s *Server) stillGood(ctx context.Context, h held) error {
	err := s.useClient(ctx, h.Client)
	if errors.Is(err, errNoClient) {
		return s.end(ctx, h, errUnknown)
	}
	if err != nil {
		return err
	}
	if p := s.providers[h.Provider]; p == nil || p.Version() != h.Version {
		// What it said is not to be relied on any more.
		return s.end(ctx, h, errRefresh)
	}
	users, err := s.Users.Bridges(ctx, h.Who)
	if err != nil {
		return fmt.Errorf("look up bridges: %w", err)
	}
	if len(users) == 0 && h.Offered && s.Now().Before(h.CodeEnds) {
		return errUnavailable // The bridge that was made a moment ago is not known here yet.
	}
	if !s.stillMay(users, h.Resource) {
		return s.end(ctx, h, errRefresh)
	}
	over, err := s.cutOff(ctx, h.grant, users)
	if over {
		return s.end(ctx, h, errRefresh)
	}
	return err
}

// grantedAs is what an access token is issued for: these scopes, and by what.
type grantedAs struct {
	scopes []string
	by     replay
}

// issue answers with an access token and the grant's next refresh token. The
// access token is made before what was presented is used up, so that a client that
// gets none can try again.
func (s *Server) issue(c surface.Call, h held, presented credential, as grantedAs) (programAnswer, error) {
	id, err := s.secret()
	if err != nil {
		return programAnswer{}, err
	}
	now := s.Now()
	made := claims{
		Issuer: s.Issuer, Subject: oauth.KeyOf(h.Who.Issuer, h.Who.Subject).String(), Audience: []string{h.Resource},
		Client: h.Client, Scope: strings.Join(as.scopes, " "), ID: id,
		Issued: now.Unix(), Expires: now.Add(s.AccessToken).Unix(), User: h.Who.User,
	}
	access, err := s.Signer.Sign(c.Request().Context(), encode(made))
	if err != nil {
		return programAnswer{}, fmt.Errorf("sign access token: %w", err)
	}
	next, err := s.turn(c, h, presented, as.by)
	if err != nil {
		return programAnswer{}, err
	}
	return programAnswer{http.StatusOK, tokenAnswer{
		Access: access, Type: tokenBearer, ExpiresIn: int(s.AccessToken / time.Second),
		Refresh: next.text(kindRefresh), Scope: made.Scope,
	}}, nil
}
