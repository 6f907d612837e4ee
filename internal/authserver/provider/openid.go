// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
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
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
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
	endpoint.AuthStyle = styleOf(more.Methods)
	return &discovered{
		provider: provider, endpoint: endpoint, namesItself: more.NamesItself,
		// The algorithms are those that the provider has named, of which the library
		// takes none without a key pair.
		verifier: provider.Verifier(&oidc.Config{ClientID: p.config.ClientID, Now: p.now}),
	}, nil
}

// styleOf returns how we say who we are. Without a word of the provider it is
// HTTP's basic authentication, by OpenID Connect Discovery 1.0, section 3. To try
// one after the other, as the library would, takes a code that can be used once.
func styleOf(methods []string) oauth2.AuthStyle {
	if len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// Begin implements flow.Provider.
func (p *openID) Begin(ctx context.Context, o flow.LoginRequest) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", p.failed(err)
	}
	config := p.oauth2(found.endpoint, o.RedirectURL, p.scopes)
	return config.AuthCodeURL(o.State, oidc.Nonce(o.Nonce), oauth2.S256ChallengeOption(o.Verifier)), nil
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
	if err != nil {
		return flow.Identity{}, fmt.Errorf("%w: %w", flow.ErrLogin, err)
	}
	if claims, err = p.complete(ctx, found, tokens, claims); err != nil {
		return flow.Identity{}, err
	}
	user, _ := p.config.User.User(claims)
	subject, _ := claims[claimSubject].(string)
	return flow.Identity{
		Issuer: p.config.Issuer, Subject: subject, User: user,
		Name: shown(claims[claimName], claims["preferred_username"], claims[claimEmail]),
	}, nil
}

func (p *openID) exchange(ctx context.Context, found *discovered, o flow.LoginAnswer) (*oauth2.Token, error) {
	config := p.oauth2(found.endpoint, o.RedirectURL, nil)
	secret, err := p.secret()
	if err != nil {
		return nil, err
	}
	if config.ClientSecret = secret; secret == "" {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams // A public client only says its name.
	}
	tokens, err := config.Exchange(ctx, o.Code, oauth2.VerifierOption(o.Verifier))
	if err != nil {
		return nil, refusal(err)
	}
	return tokens, nil
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
// 3.1.3.7. The library checks signature, issuer, audience and times, and the rest
// is checked here.
func (p *openID) verify(ctx context.Context, found *discovered, tokens *oauth2.Token, nonce string) (map[string]any, error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("there is no ID token: the provider must be asked for the scope openid")
	}
	token, err := found.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("verify ID token: %w", err)
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return nil, fmt.Errorf("read ID token: %w", err)
	}
	if err := checkToken(token, nonce, tokens.AccessToken); err != nil {
		return nil, err
	}
	if party, named := claims["azp"]; named && party != p.config.ClientID || !named && len(token.Audience) > 1 {
		return nil, errors.New("the ID token was made for somebody else")
	}
	return claims, nil
}

func checkToken(token *oidc.IDToken, nonce, accessToken string) error {
	switch {
	case nonce == "" || token.Nonce != nonce:
		return errors.New("the ID token is of another login")
	case token.AccessTokenHash != "" && token.VerifyAccessToken(accessToken) != nil:
		return errors.New("the ID token is of another access token")
	case !oauth.ValidSubject(token.Subject):
		return errors.New("the ID token names nobody")
	}
	return nil
}

// complete adds what the provider says at its UserInfo endpoint alone, as those
// do who keep ID tokens short. What the ID token says counts.
func (p *openID) complete(ctx context.Context, found *discovered, tokens *oauth2.Token, claims map[string]any) (map[string]any, error) {
	lacking := p.lacksUser(claims)
	if !lacking && claims[claimName] != nil || found.provider.UserInfoEndpoint() == "" {
		return claims, nil
	}
	more, err := userInfo(ctx, found.provider, tokens)
	switch {
	case err == nil && more[claimSubject] != claims[claimSubject]: // By OpenID Connect Core 1.0, section 5.3.2.
		err = fmt.Errorf("%w: it speaks of another person", flow.ErrLogin)
	case err == nil:
		return joined(claims, more), nil
	}
	if lacking { // A person without a name has one who is shown less, and no other user.
		return nil, fmt.Errorf("ask for user info: %w", err)
	}
	return claims, nil
}

// joined returns the claims with what UserInfo says beside them. Whether an address is
// verified is said of one address: it counts only with the address of the same answer.
func joined(claims, more map[string]any) map[string]any {
	claims = maps.Clone(claims)
	if _, has := claims[claimEmail]; !has {
		delete(claims, claimEmailVerified)
	} else if address, ok := claims[claimEmail].(string); !ok || more[claimEmail] != address {
		delete(more, claimEmailVerified)
	}
	maps.Copy(more, claims)
	return more
}

// lacksUser reports whether the claims say too little to make a user of.
func (p *openID) lacksUser(claims map[string]any) bool {
	claim := p.config.User.Claim
	if claim == "" {
		return false
	}
	return claims[claim] == nil || claim == claimEmail && claims[claimEmailVerified] == nil
}

func userInfo(ctx context.Context, provider *oidc.Provider, tokens *oauth2.Token) (map[string]any, error) {
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := info.Claims(&claims); err != nil {
		return nil, err
	}
	return claims, nil
}
