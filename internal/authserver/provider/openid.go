// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
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
	verifier *oidc.IDTokenVerifier
	keys     *keySet
	// authorize, token, push and userInfo are its endpoints. It may lack the last two.
	authorize, token, push, userInfo string
	// auth is how clients prove who they are.
	auth clientAuth
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
		Push         string   `json:"pushed_authorization_request_endpoint"`
		Keys         string   `json:"jwks_uri"`
		Scopes       []string `json:"scopes_supported"`
		Methods      []string `json:"token_endpoint_auth_methods_supported"`
		AuthSignings []string `json:"token_endpoint_auth_signing_alg_values_supported"`
		Algorithms   []string `json:"id_token_signing_alg_values_supported"`
		NamesItself  bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	endpoint, userInfo := provider.Endpoint(), provider.UserInfoEndpoint()
	for i, url := range []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys, userInfo, more.Push} {
		if optional := i > 2; optional && url == "" {
			continue
		}
		if err := checkURL(url, true); err != nil {
			return nil, err
		}
	}
	keys := &keySet{client: p.client, url: more.Keys}
	return &discovered{
		authorize: endpoint.AuthURL, token: endpoint.TokenURL, push: more.Push, userInfo: userInfo, keys: keys,
		auth: clientAuth{methods: more.Methods, algorithms: more.AuthSignings}, namesItself: more.NamesItself,
		offline: len(more.Scopes) == 0 || slices.Contains(more.Scopes, oidc.ScopeOfflineAccess),
		verifier: oidc.NewVerifier(p.config.Issuer, keys, &oidc.Config{
			ClientID: p.config.ClientID, Now: func() time.Time { return p.now().Add(-skew) }, SupportedSigningAlgs: algorithmsOf(more.Algorithms),
		}),
	}, nil
}

// Begin implements flow.Provider.
func (p *openID) Begin(ctx context.Context, o flow.LoginRequest) (string, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", p.failed(err)
	}
	// A person who logs in there would come back in vain.
	if _, _, err := p.config.method(found.auth.methods); err != nil {
		return "", p.failed(err)
	}
	q := p.requestAt(found, o)
	if found.push != "" {
		if q, err = p.pushed(ctx, found, q); err != nil {
			return "", p.failed(err)
		}
	}
	return withQuery(found.authorize, q), nil
}

// requestAt returns what a login is asked for with.
func (p *openID) requestAt(found *discovered, o flow.LoginRequest) url.Values {
	scopes, more := p.scopes, map[string]string{}
	if p.config.Limits.Grace != 0 && o.Offline && found.offline {
		if !slices.Contains(scopes, oidc.ScopeOfflineAccess) {
			scopes = append(slices.Clone(scopes), oidc.ScopeOfflineAccess)
		}
		// Without it a provider must ignore that scope (OpenID Connect Core 1.0, section 11).
		more["prompt"] = "consent"
	}
	q := p.request(o, scopes)
	q.Set("nonce", o.Nonce)
	maps.Copy(more, p.config.Parameters)
	for name, value := range more {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// pushed gives a provider what a login is asked for with, and returns the parameters that stand
// for it (RFC 9126). It does so wherever the provider has an endpoint for it: many require it of
// a single client, which their metadata do not say. The browser is sent on at once and with
// each answer once, so that none is used after its end.
func (p *openID) pushed(ctx context.Context, found *discovered, q url.Values) (url.Values, error) {
	var answer struct {
		RequestURI string `json:"request_uri"`
	}
	err := p.post(ctx, found.auth, found.push, q, &answer)
	if err == nil && answer.RequestURI == "" {
		err = errors.New("its answer has no request_uri")
	}
	if err != nil {
		return nil, fmt.Errorf("push authorization request: %w", err)
	}
	return url.Values{"client_id": {p.config.ClientID}, "request_uri": {answer.RequestURI}}, nil
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
	got, err := p.exchange(ctx, found.auth, found.token, "code", codeForm(o))
	if err != nil {
		return flow.Identity{}, err
	}
	claims, err := p.verify(ctx, found, got, o.Nonce)
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
		who.RefreshToken = got.Refresh
	}
	return p.describe(ctx, found, got, who, claims)
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
func (p *openID) verify(ctx context.Context, found *discovered, got tokens, nonce string) (map[string]any, error) {
	if got.ID == "" {
		return nil, errors.New("there is no ID token: the provider must be asked for the scope openid")
	}
	token, claims, err := p.verifyToken(ctx, found, got.ID, got.Access)
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
