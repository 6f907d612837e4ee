// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// Renew implements flow.Renewer, by OpenID Connect Core 1.0, section 12. A provider that
// gives tokens still lets the person in. What it does not say of the person stays as it was.
func (p *openID) Renew(ctx context.Context, who flow.Identity) (flow.Identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	config, err := p.clientFor(found, "")
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: who.RefreshToken}).Token()
	if err != nil {
		return flow.Identity{}, p.failed(refusal("refresh token", err))
	}
	now := who
	now.Groups, now.GroupsError = nil, nil
	now.RefreshToken = cmp.Or(tokens.RefreshToken, who.RefreshToken)
	claims, err := p.renewedClaims(ctx, found, tokens, who)
	if errors.Is(err, errKeys) { // The ID token says nothing; the refresh token must not be lost by it.
		now.GroupsError = p.failed(err)
		return now, nil
	}
	if err != nil {
		return flow.Identity{}, p.failed(fmt.Errorf("%w: %w", flow.ErrLogin, err))
	}
	described, err := p.describe(ctx, found, tokens, now, claims)
	if err != nil { // UserInfo did not answer; the refresh token must not be lost by it.
		now.GroupsError = p.failed(err)
		return now, nil
	}
	return described, nil
}

// renewedClaims returns the claims of the ID token that came with renewed tokens, nil if
// none did, which the provider is free to do. There is no nonce to compare: it need not
// be in it, and no browser was on the way.
func (p *openID) renewedClaims(ctx context.Context, found *discovered, tokens *oauth2.Token, who flow.Identity) (map[string]any, error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, nil
	}
	_, claims, err := p.verifyToken(ctx, found, raw, tokens.AccessToken)
	if err != nil {
		return nil, err
	}
	if subject, err := p.subjectOf(claims); err != nil || subject != who.Subject {
		return nil, errors.New("the ID token is of another person")
	}
	return claims, nil
}
