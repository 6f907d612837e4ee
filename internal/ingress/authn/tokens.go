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

	"k8s.io/apimachinery/pkg/types"

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
	// TrustedNamespaces are those whose HostedBridges say for the installation whose
	// bridges they are: at the URL for everyone, their logins count although the
	// person never agreed to the bridge.
	TrustedNamespaces []string
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
	issuer string
	person route.Person
	// asked is the user of the URL that the token is for, empty for that for
	// everyone. There, bridge is the one that the person agreed to, empty if the token
	// names none; then only what trusted namespaces and the rule say counts.
	asked   v1alpha1.UserID
	bridge  types.UID
	trusted []string
	ends    time.Time
	// calls is whether tools may be run, and manages whether the bridge may be changed.
	calls, manages bool
	// own is whether our own server issued the token.
	own bool
}

// opens reports whether the person may use the user's bridge with the token. A
// token stays as it is; what it opens is looked up each time.
func (g *tokenGrant) opens(t *route.Table, user v1alpha1.UserID) bool {
	b, exists := t.Lookup(user)
	switch {
	case !exists || !t.MayUse(g.person, user):
		return false
	case g.asked != "":
		return g.asked == user
	case g.bridge != "":
		return g.bridge == b.BridgeUID
	default:
		return g.person.Ruled == user || slices.Contains(g.trusted, b.Namespace)
	}
}

// choose returns whose bridge a request is for: the one of its path, or at the URL
// for everyone the one that the token names. Only tokens of other servers, and those
// of our own from before an upgrade, name none.
func (g *tokenGrant) choose(t *route.Table) (v1alpha1.UserID, error) {
	if g.asked != "" {
		if t.MayUse(g.person, g.asked) {
			return g.asked, nil
		}
		return "", problems.Unauthorized
	}
	if g.bridge == "" {
		return g.chooseUnasked(t)
	}
	for b := range t.BridgesOf(g.person) {
		if b.BridgeUID == g.bridge {
			return b.User, nil
		}
	}
	return "", problems.Unauthorized
}

func (g *tokenGrant) chooseUnasked(t *route.Table) (v1alpha1.UserID, error) {
	may := t.Unasked(g.person, g.trusted)
	if len(may) == 1 {
		return may[0].User, nil
	}
	if g.own {
		// Its client gets another token, or its person logs in and agrees to a bridge.
		return "", problems.Unauthorized
	}
	if len(may) > 1 {
		return "", problems.SeveralBridges
	}
	for range t.BridgesOf(g.person) {
		return "", problems.BridgeNotNamed
	}
	return "", problems.Unauthorized
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
// one is the same answer: also for a token of somebody whose bridge it is not, and
// for the URL of an unknown user.
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
	g := &tokenGrant{
		issuer: token.Issuer, person: route.Person{Subject: token.Subject, Ruled: token.User, Since: token.Issued}, own: token.Own,
		asked: from.User, bridge: token.Bridge, trusted: a.oauth.TrustedNamespaces,
		ends: token.Expires.Add(oauth.Leeway), calls: token.Call, manages: token.Manages(),
	}
	user, err := g.choose(t)
	if err != nil {
		return p, false, err // No attempt either: nobody guesses a good token.
	}
	p = Principal{User: user, BridgeUID: bridgeUID(t, user), token: g}
	if !token.Read {
		return p, true, problems.Insufficient
	}
	return p, true, nil
}
