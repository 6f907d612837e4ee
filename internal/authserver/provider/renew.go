// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// Renew implements flow.Renewer, by OpenID Connect Core 1.0, section 12. A provider that
// gives tokens still lets the person in. What it does not say of the person stays as it was.
func (p *openID) Renew(ctx context.Context, who flow.Identity) (flow.Identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {who.RefreshToken}}
	got, err := p.exchange(ctx, found.auth, found.token, "refresh token", form)
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	now := who
	now.Groups, now.GroupsError = nil, nil
	now.RefreshToken = cmp.Or(got.Refresh, who.RefreshToken)
	claims, err := p.renewedClaims(ctx, found, got, who)
	if errors.Is(err, errKeys) { // The ID token says nothing; the refresh token must not be lost by it.
		now.GroupsError = p.failed(err)
		return now, nil
	}
	if err != nil {
		return flow.Identity{}, p.failed(fmt.Errorf("%w: %w", flow.ErrLogin, err))
	}
	described, err := p.describe(ctx, found, got, now, claims)
	if err != nil { // UserInfo did not answer; the refresh token must not be lost by it.
		now.GroupsError = p.failed(err)
		return now, nil
	}
	return described, nil
}

// renewedClaims returns the claims of the ID token that came with renewed tokens, nil if
// none did, which the provider is free to do. There is no nonce to compare: it need not
// be in it, and no browser was on the way.
func (p *openID) renewedClaims(ctx context.Context, found *discovered, got tokens, who flow.Identity) (map[string]any, error) {
	if got.ID == "" {
		return nil, nil
	}
	_, claims, err := p.verifyToken(ctx, found, got.ID, got.Access)
	if err != nil {
		return nil, err
	}
	if subject, err := p.subjectOf(claims); err != nil || subject != who.Subject {
		return nil, errors.New("the ID token is of another person")
	}
	return claims, nil
}
