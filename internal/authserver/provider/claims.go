// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// errNoIDToken says why it is not known whether a person is in no group.
var errNoIDToken = errors.New("the provider gave no ID token with the renewed tokens, and UserInfo has no such claim")

// describe returns who with what the claims of their ID token say, and of the rest what
// the provider says at its UserInfo endpoint alone, as those do who keep ID tokens short.
// Without an ID token the claims are nil.
func (p *openID) describe(ctx context.Context, found *discovered, got tokens, who flow.Identity, claims map[string]any) (flow.Identity, error) {
	unknown := errNoIDToken // Why groups that nobody names are not known.
	if claims != nil {
		unknown = nil
	}
	if p.lacks(claims) && found.userInfo != "" {
		more, err := p.readUserInfo(ctx, found, got.Access, p.isOf(who, claims))
		// A person without a name is shown with less; one without a user could become none.
		if err != nil && p.lacksUser(claims) {
			return flow.Identity{}, err
		}
		if err != nil {
			unknown = err
		} else {
			claims = joined(claims, more)
		}
	}
	if !p.lacksUser(claims) {
		who.User, _ = p.config.User.User(claims)
	}
	who.Name = shown(claims[claimName], claims["preferred_username"], claims[claimEmail])
	if p.config.Groups != "" {
		who.Groups, who.GroupsError = groupsIn(claims, p.config.Groups, unknown)
	}
	return who, nil
}

// groupsIn returns the groups in claims. Providers leave the claim out of tokens of people
// who are in no group: that it is missing says so, unless unknown says why not.
func groupsIn(claims map[string]any, claim string, unknown error) ([]string, error) {
	groups, err := oauth.Groups(claims, claim)
	switch {
	case !errors.Is(err, oauth.ErrNoGroups):
		return groups, err
	case unknown != nil:
		return nil, unknown
	}
	return []string{}, nil
}

// lacks reports whether UserInfo could say something that the claims do not.
func (p *openID) lacks(claims map[string]any) bool {
	if p.lacksUser(claims) || claims[claimName] == nil {
		return true
	}
	if p.config.Groups == "" {
		return false
	}
	_, err := oauth.Groups(claims, p.config.Groups)
	return errors.Is(err, oauth.ErrNoGroups)
}

// lacksUser reports whether the claims say too little to make a user of.
func (p *openID) lacksUser(claims map[string]any) bool {
	claim := p.config.User.Claim
	if claim == "" {
		return false
	}
	return claims[claim] == nil || claim == claimEmail && claims[claimEmailVerified] == nil
}

// joined returns the claims with what UserInfo says beside them. Whether an address is
// verified is said of one address: it counts only with the address of the same answer.
func joined(claims, more map[string]any) map[string]any {
	if claims == nil {
		return more
	}
	claims = maps.Clone(claims)
	if _, has := claims[claimEmail]; !has {
		delete(claims, claimEmailVerified)
	} else if address, ok := claims[claimEmail].(string); !ok || more[claimEmail] != address {
		delete(more, claimEmailVerified)
	}
	maps.Copy(more, claims)
	return more
}

// isOf tests whether UserInfo is of a person: it has the sub of their ID token (OpenID Connect
// Core 1.0, section 5.3.2), or without one what they are known by here.
func (p *openID) isOf(who flow.Identity, claims map[string]any) func(more map[string]any) bool {
	return func(more map[string]any) bool {
		if claims != nil {
			return more[claimSubject] == claims[claimSubject]
		}
		return more[p.subjectClaim()] == who.Subject
	}
}

// readUserInfo returns the claims of the UserInfo endpoint, which must be of the person. They may
// be signed (OpenID Connect Core 1.0, section 5.3.2).
func (p *openID) readUserInfo(ctx context.Context, found *discovered, accessToken string, isSame func(map[string]any) bool) (map[string]any, error) {
	content, err := p.askUserInfo(ctx, found, accessToken)
	if err != nil {
		return nil, fmt.Errorf("ask for user info: %w", err)
	}
	var claims map[string]any
	if json.Unmarshal(content, &claims) != nil { // Its error can quote the answer.
		return nil, errors.New("ask for user info: its answer is no JSON object")
	}
	if !isSame(claims) {
		return nil, fmt.Errorf("%w: it speaks of another person", flow.ErrLogin)
	}
	return claims, nil
}

func (p *openID) askUserInfo(ctx context.Context, found *discovered, accessToken string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, found.userInfo, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+accessToken)
	resp, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if kind, _, wrong := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || wrong != nil || kind != "application/jwt" {
		return content, err
	}
	return found.keys.VerifySignature(ctx, string(content))
}
