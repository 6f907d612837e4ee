// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// freshFor is how long what was discovered is used before it is looked up
	// again. It bounds how long a key is taken that the provider has withdrawn.
	freshFor = time.Hour
	// skew is how much later than the provider's our clock may be: a token is taken for so
	// long after its end. The library takes it five minutes before it begins, which leaves
	// four.
	skew = time.Minute
	// pause is between attempts to look it up again.
	pause = time.Minute
)

// openID is an OpenID provider.
type openID struct {
	base
	scopes []string
	now    func() time.Time

	looking singleflight.Group
	mu      sync.Mutex
	found   *discovered // nil while it was never reached
	next    time.Time   // when it is looked up again
}

// discovered is what a provider says of itself.
type discovered struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	endpoint oauth2.Endpoint
	// namesItself is whether it says who it is when it sends people back (RFC
	// 9207).
	namesItself bool
	// offline is whether it can be asked for a refresh token by offline_access: it has that
	// scope, or does not say which it has. Some refuse a login for a scope unknown to them.
	offline bool
}

// OIDC returns an OpenID provider. It is looked up when somebody logs in, so that
// one that is away keeps nobody from starting.
func OIDC(c Config) (flow.Provider, error) {
	if err := c.check(c.Issuer); err != nil {
		return nil, err
	}
	return &openID{base: newBase(c), scopes: scopesOf(c), now: time.Now}, nil
}

// scopesOf returns what the provider is asked for: who it is at least, and the
// email where the user is made of it.
func scopesOf(c Config) []string {
	scopes := slices.Clone(c.Scopes)
	if len(scopes) == 0 {
		scopes = []string{oidc.ScopeOpenID, "profile"}
	}
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		scopes = append([]string{oidc.ScopeOpenID}, scopes...)
	}
	if c.User.Claim == claimEmail && !slices.Contains(scopes, claimEmail) {
		scopes = append(scopes, claimEmail)
	}
	return scopes
}

// discover returns what the provider says of itself. What was found once is used
// while it is looked up again.
func (p *openID) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	found, due := p.found, !p.now().Before(p.next)
	p.mu.Unlock()
	if found != nil && !due {
		return found, nil
	}
	// It is for all who wait, and not for one who may leave.
	result := p.looking.DoChan("", func() (any, error) { return p.lookUp(context.WithoutCancel(ctx)) })
	if found != nil {
		return found, nil
	}
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*discovered), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *openID) lookUp(ctx context.Context) (*discovered, error) {
	found, err := p.read(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.next = p.now().Add(pause)
		return nil, fmt.Errorf("discover: %w", err)
	}
	p.found, p.next = found, p.now().Add(freshFor)
	return found, nil
}

// read reads the discovery document, which must be the issuer's.
func (p *openID) read(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.config.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys        string   `json:"jwks_uri"`
		Scopes      []string `json:"scopes_supported"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		Algorithms  []string `json:"id_token_signing_alg_values_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	urls := []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys}
	if url := provider.UserInfoEndpoint(); url != "" {
		urls = append(urls, url)
	}
	for _, url := range urls {
		if err := checkURL(url, true); err != nil {
			return nil, err
		}
	}
	methods := more.Methods
	if p.config.AuthMethod != "" {
		methods = []string{p.config.AuthMethod}
	}
	endpoint.AuthStyle = styleOf(methods)
	return &discovered{
		provider: provider, endpoint: endpoint, namesItself: more.NamesItself,
		offline: len(more.Scopes) == 0 || slices.Contains(more.Scopes, oidc.ScopeOfflineAccess),
		verifier: oidc.NewVerifier(p.config.Issuer, &keySet{client: p.client, url: more.Keys}, &oidc.Config{
			ClientID: p.config.ClientID, Now: func() time.Time { return p.now().Add(-skew) }, SupportedSigningAlgs: algorithmsOf(more.Algorithms),
		}),
	}, nil
}

// styleOf returns how we say who we are. Without a word of the provider it is
// HTTP's basic authentication, by OpenID Connect Discovery 1.0, section 3. To try
// one after the other, as the library would, takes a code that can be used once. A provider
// that takes no secret gets none: it is authStyleNone.
func styleOf(methods []string) oauth2.AuthStyle {
	switch {
	case len(methods) == 0, slices.Contains(methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader
	case slices.Contains(methods, "client_secret_post"):
		return oauth2.AuthStyleInParams
	}
	return authStyleNone
}

// authStyleNone is that the provider names no method of ours, such as private_key_jwt alone.
const authStyleNone oauth2.AuthStyle = -1

var errAuthMethod = errors.New("its token endpoint names neither client_secret_basic nor client_secret_post: " +
	"choose one of them for this client at the provider, and set tokenEndpointAuthMethod to it")

// Begin implements flow.Provider.
func (p *openID) Begin(ctx context.Context, o flow.LoginRequest) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", p.failed(err)
	}
	scopes, more := p.scopes, map[string]string{}
	if p.config.Limits.Grace != 0 && o.Offline && found.offline {
		if !slices.Contains(scopes, oidc.ScopeOfflineAccess) {
			scopes = append(slices.Clone(scopes), oidc.ScopeOfflineAccess)
		}
		// Without it a provider must ignore that scope (OpenID Connect Core 1.0, section 11).
		more["prompt"] = "consent"
	}
	maps.Copy(more, p.config.Parameters)
	options := []oauth2.AuthCodeOption{oidc.Nonce(o.Nonce), oauth2.S256ChallengeOption(o.Verifier)}
	for name, value := range more {
		if value != "" {
			options = append(options, oauth2.SetAuthURLParam(name, value))
		}
	}
	return p.oauth2(found.endpoint, o.RedirectURL, scopes).AuthCodeURL(o.State, options...), nil
}

// Finish implements flow.Provider.
func (p *openID) Finish(ctx context.Context, o flow.LoginAnswer) (flow.Identity, error) {
	who, err := p.finish(ctx, o)
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	return who, nil
}

var errMixedUp = fmt.Errorf("%w: the answer is of another issuer", flow.ErrLogin)

func (p *openID) finish(ctx context.Context, o flow.LoginAnswer) (flow.Identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return flow.Identity{}, err
	}
	if o.Iss != p.config.Issuer && (o.Iss != "" || found.namesItself) {
		return flow.Identity{}, errMixedUp
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.exchange(ctx, found, o)
	if err != nil {
		return flow.Identity{}, err
	}
	claims, err := p.verify(ctx, found, tokens, o.Nonce)
	if errors.Is(err, errKeys) {
		return flow.Identity{}, err
	}
	if err != nil {
		return flow.Identity{}, fmt.Errorf("%w: %w", flow.ErrLogin, err)
	}
	who := flow.Identity{Issuer: p.config.Issuer}
	if who.Subject, err = p.subjectOf(claims); err != nil {
		return flow.Identity{}, fmt.Errorf("%w: %w", flow.ErrLogin, err)
	}
	if p.config.Limits.Grace != 0 {
		who.RefreshToken = tokens.RefreshToken
	}
	return p.describe(ctx, found, tokens, who, claims)
}

// subjectClaim is the claim that people are known by here.
func (p *openID) subjectClaim() string { return cmp.Or(p.config.SubjectClaim, claimSubject) }

// subjectOf returns by what the person of an ID token is known here.
func (p *openID) subjectOf(claims map[string]any) (string, error) {
	subject, _ := claims[p.subjectClaim()].(string)
	if !oauth.ValidSubject(subject) {
		return "", fmt.Errorf("the ID token has no claim %s that names a person", p.subjectClaim())
	}
	return subject, nil
}

func (p *openID) exchange(ctx context.Context, found *discovered, o flow.LoginAnswer) (*oauth2.Token, error) {
	config, err := p.clientFor(found, o.RedirectURL)
	if err != nil {
		return nil, err
	}
	tokens, err := config.Exchange(ctx, o.Code, oauth2.VerifierOption(o.Verifier))
	if err != nil {
		return nil, refusal("code", err)
	}
	return tokens, nil
}

// clientFor returns how the provider is asked for tokens.
func (p *openID) clientFor(found *discovered, redirectURL string) (*oauth2.Config, error) {
	config := p.oauth2(found.endpoint, redirectURL, nil)
	secret, err := p.secret()
	if err != nil {
		return nil, err
	}
	if config.ClientSecret = secret; secret == "" {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams // A public client only says its name.
	}
	if config.Endpoint.AuthStyle == authStyleNone {
		return nil, errAuthMethod
	}
	return config, nil
}

// The claims that are looked at here.
const (
	claimSubject = "sub"
	claimName    = "name"
	claimEmail   = "email"
	// claimEmailVerified is whether the provider has verified the address of claimEmail.
	claimEmailVerified = "email_verified"
)

// verify returns the claims of an ID token, by OpenID Connect Core 1.0, section
// 3.1.3.7.
func (p *openID) verify(ctx context.Context, found *discovered, tokens *oauth2.Token, nonce string) (map[string]any, error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("there is no ID token: the provider must be asked for the scope openid")
	}
	token, claims, err := p.verifyToken(ctx, found, raw, tokens.AccessToken)
	if err != nil {
		return nil, err
	}
	if nonce == "" || token.Nonce != nonce {
		return nil, errors.New("the ID token is of another login")
	}
	return claims, nil
}

// verifyToken checks an ID token, but for the login that it is of. The library checks
// signature, issuer, audience and times, and the rest is checked here.
func (p *openID) verifyToken(ctx context.Context, found *discovered, raw, accessToken string) (*oidc.IDToken, map[string]any, error) {
	var fault error
	token, err := found.verifier.Verify(context.WithValue(ctx, faultOf{}, &fault), raw)
	if err = cmp.Or(fault, err); err != nil {
		return nil, nil, fmt.Errorf("verify ID token: %w", err)
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("read ID token: %w", err)
	}
	if token.AccessTokenHash != "" && token.VerifyAccessToken(accessToken) != nil && token.AccessTokenHash != ed25519Hash(accessToken) {
		return nil, nil, errors.New("the ID token is of another access token")
	}
	if !oauth.ValidSubject(token.Subject) {
		return nil, nil, errors.New("the ID token names nobody")
	}
	if party, named := claims["azp"]; named && party != p.config.ClientID || !named && len(token.Audience) > 1 {
		return nil, nil, errors.New("the ID token was made for somebody else")
	}
	return token, claims, nil
}
