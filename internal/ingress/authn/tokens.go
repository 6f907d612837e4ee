// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// OAuth is by which access tokens are accepted beside API keys.
type OAuth struct {
	// PublicURL is where users reach the installation, such as
	// https://bridges.example.com. Tokens are for a URL below it.
	PublicURL string
	// Name is what users are shown as the name of what a token is for.
	Name string
	// Servers are the issuers of tokens, the one to begin with first.
	Servers []string
	// Scopes are what clients are told to ask them for.
	Scopes []string
	// Tokens checks what they issue.
	Tokens TokenVerifier
}

// TokenVerifier checks an access token for a resource: oauth.Verifier. Its errors
// are oauth.ErrToken and oauth.ErrKeysAway.
type TokenVerifier interface {
	Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error)
}

// cached returns o with a memory of the tokens that were good a moment ago.
func (o *OAuth) cached() *OAuth {
	if o == nil {
		return nil
	}
	c := *o
	c.Tokens = newTokenCache(o.Tokens)
	return &c
}

// tokenGrant is what an access token proved of who calls.
type tokenGrant struct {
	issuer  string
	subject oauth.SubjectKey
	// ruled is the user that the installation's rule makes of the token, if any.
	ruled v1alpha1.UserID
	ends  time.Time
	// calls is whether tools may be run.
	calls bool
}

// opens reports whether the person may use the user's bridge. A token stays as it
// is; what it opens is looked up each time.
func (g *tokenGrant) opens(t *route.Table, user v1alpha1.UserID) bool {
	return g.ruled == user || slices.Contains(t.Subjects(g.subject), user)
}

// users returns whose bridges the person may use.
func (g *tokenGrant) users(t *route.Table) []v1alpha1.UserID {
	users := t.Subjects(g.subject)
	if _, ok := t.Lookup(g.ruled); ok && !slices.Contains(users, g.ruled) {
		users = append(slices.Clip(users), g.ruled)
	}
	return users
}

// ResourcePath returns the path that a token names: that of a user's endpoint, or
// where there is no user, of the one for everyone.
func ResourcePath(user v1alpha1.UserID, endpoint string) string {
	if user == "" {
		return endpoint
	}
	return "/u/" + string(user) + endpoint
}

// takesToken reports whether what was presented has the form of a JWT, which no key
// has.
func (a *Authenticator) takesToken(presented string) bool {
	return a.oauth != nil && strings.Count(presented, ".") == 2
}

// verifyToken is Authenticate for an access token. Whatever is wrong with
// one is the same answer: also a token of somebody whose bridge it is not, or
// that is for the URL of a user that there is not.
func (a *Authenticator) verifyToken(ctx context.Context, t *route.Table, presented string, from Attempt) (p Principal, admitted bool, err error) {
	token, err := a.oauth.Tokens.Verify(ctx, presented, oauth.Resource(a.oauth.PublicURL, ResourcePath(from.User, from.Endpoint)), time.Now())
	switch {
	case errors.Is(err, oauth.ErrKeysAway):
		return p, false, fmt.Errorf("%w: %w", problems.LoginAway, err)
	case errors.Is(err, oauth.Expired):
		// It was good: that is how clients find out that they need another one, and
		// many people's may come from one address.
		return p, false, problems.Unauthorized
	case err != nil:
		return p, false, a.Refuse(from.Source, presented, "")
	}
	g := &tokenGrant{issuer: token.Issuer, subject: token.Subject, ruled: token.User, ends: token.Expires.Add(oauth.Leeway), calls: token.Call}
	user, err := chooseUser(g.users(t), from.User)
	if err != nil {
		return p, false, err // No attempt either: nobody guesses a good token.
	}
	p = Principal{User: user, token: g}
	if !token.Read {
		return p, true, problems.Insufficient
	}
	return p, true, nil
}

// chooseUser returns whose bridge a request is for: the one of its path, or the
// only one of the URL for everyone.
func chooseUser(may []v1alpha1.UserID, asked v1alpha1.UserID) (v1alpha1.UserID, error) {
	switch {
	case asked != "" && slices.Contains(may, asked):
		return asked, nil
	case asked == "" && len(may) == 1:
		return may[0], nil
	case asked == "" && len(may) > 1:
		return "", problems.SeveralBridges
	default:
		return "", problems.Unauthorized
	}
}
