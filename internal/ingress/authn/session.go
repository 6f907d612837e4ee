// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"errors"
	"net/netip"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Identify returns whose key a person entered, for a session.
func (a *Authenticator) Identify(source netip.Addr, key string) (httpapi.Identity, error) {
	t := a.routes.Current()
	if t == nil {
		return httpapi.Identity{}, problems.NotReady
	}
	now := time.Now()
	p, err := verifyKey(t, key, "", now)
	if errors.Is(err, problems.Unauthorized) {
		return httpapi.Identity{}, a.Refuse(source, key, p.KeyID)
	}
	if err != nil {
		return httpapi.Identity{}, err
	}
	a.noteKeyUse(t, p, now)
	return httpapi.Identity{User: p.User, KeyID: p.KeyID, KeyDigest: digestOf(p.hash), Since: now}, nil
}

// digestOf returns a text by which a session knows its key again. The hash of a key
// stays where it is.
func digestOf(h apikey.Hash) string { return apikey.HashOf(h.String()).String() }

// Resume returns the person of a session as the caller of a request, or
// problems.Unauthorized if their key was revoked, or their access or login ended.
func (a *Authenticator) Resume(of httpapi.Identity) (Principal, error) {
	t := a.routes.Current()
	if t == nil {
		return Principal{}, problems.NotReady
	}
	p, ok := a.principalOf(t, of)
	if !ok || !p.StillValid(t, time.Now()) {
		return Principal{}, problems.Unauthorized
	}
	return p, nil
}

func (a *Authenticator) principalOf(t *route.Table, of httpapi.Identity) (Principal, bool) {
	if of.Subject != nil {
		if a.oauth == nil {
			return Principal{}, false
		}
		person := route.Person{Subject: *of.Subject, Ruled: of.Ruled, Since: of.Since}
		// Its end is that of the session, which the console looks at.
		grant := &tokenGrant{issuer: a.oauth.PublicURL, person: person, asked: of.User, ends: of.Since.Add(maxSession), calls: true, manages: true, own: true}
		return Principal{User: of.User, BridgeUID: bridgeUID(t, of.User), token: grant}, true
	}
	for _, e := range t.Keys(of.KeyID) {
		if e.User == of.User && digestOf(e.Hash) == of.KeyDigest {
			return Principal{User: e.User, BridgeUID: bridgeUID(t, e.User), KeyID: of.KeyID, hash: e.Hash, keyEnds: e.ExpiresAt}, true
		}
	}
	return Principal{}, false
}

// maxSession is longer than any session: until then what it began may go on.
const maxSession = 24 * time.Hour
