// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Principal is who calls, as proved by a key or an access token.
type Principal struct {
	User v1alpha1.UserID
	// BridgeUID is the HostedBridge that the user had then, empty for none.
	BridgeUID types.UID
	KeyID     string
	hash      apikey.Hash
	// keyEnds is when the key ends, zero for never.
	keyEnds time.Time
	// tokenGrant is what a token proved, nil for a key.
	token *tokenGrant
}

// decoy is compared where the table has no key of the presented id, so that
// an unknown id takes the time of a known one. No key hashes to it as far as
// anybody knows.
var decoy = []route.KeyEntry{{Hash: apikey.Hash{Bound: true}}}

// verifyKey returns whose key presented is, in a request for what is asked's, or
// nobody's in particular. Where it is refused, of the principal only the id that
// was presented, if there was one, and the user where there is no doubt. Every
// refusal takes the same way: at least one hash of what was presented and one
// comparison.
func verifyKey(t *route.Table, presented string, asked v1alpha1.UserID, now time.Time) (Principal, error) {
	key, err := apikey.Parse(presented)
	var entries []route.KeyEntry
	if err == nil && key.Kind == apikey.KindUser {
		entries = t.Keys(key.ID)
	}
	if len(entries) == 0 {
		entries = decoy
	}
	var room [4]route.KeyEntry // There is one entry, unless somebody copied it.
	holders := room[:0]
	for _, e := range entries {
		if e.Hash.IsOf(string(e.User), presented) {
			holders = append(holders, e)
		}
	}
	holder, err := holderFor(holders, asked, now)
	return Principal{User: holder.User, BridgeUID: bridgeUID(t, holder.User), KeyID: key.ID, hash: holder.Hash, keyEnds: holder.ExpiresAt}, err
}

// bridgeUID returns the UID of a user's HostedBridge, empty for a user without one.
func bridgeUID(t *route.Table, user v1alpha1.UserID) types.UID {
	b, _ := t.Lookup(user)
	return b.BridgeUID
}

// holderFor returns which of those who hold a key is meant. A hash that is not
// bound to its user can have been copied into another bridge, and nothing tells
// the copy: so the path's user decides, whoever else holds the key, and without
// one nobody is chosen. That one of them has expired is no sign either.
func holderFor(holders []route.KeyEntry, asked v1alpha1.UserID, now time.Time) (route.KeyEntry, error) {
	if i := slices.IndexFunc(holders, func(e route.KeyEntry) bool { return e.User == asked }); i >= 0 {
		holders = holders[i : i+1]
	}
	switch {
	case !slices.ContainsFunc(holders, func(e route.KeyEntry) bool { return !expired(e, now) }):
		return route.KeyEntry{}, problems.Unauthorized
	case len(holders) > 1 && asked == "":
		return route.KeyEntry{}, problems.KeyAmbiguous
	case len(holders) > 1:
		return route.KeyEntry{}, problems.Unauthorized
	case asked != "" && asked != holders[0].User:
		return holders[0], problems.Unauthorized
	}
	return holders[0], nil
}

// StillValid reports whether that by which p was identified still opens p's
// bridge. A request that waited asks again before it goes on. A token that has
// ended meanwhile lets what was begun with it end.
func (p Principal) StillValid(t *route.Table, now time.Time) bool {
	if p.token != nil {
		return p.token.opens(t, p.User)
	}
	for _, e := range t.Keys(p.KeyID) {
		if e.User == p.User && e.Hash == p.hash && !expired(e, now) {
			return true
		}
	}
	return false
}

// KeyEnds returns when the key by which p was identified ends, zero for never and for a login.
func (p Principal) KeyEnds() time.Time { return p.keyEnds }

// Ended reports whether the token by which p was identified has ended. A call
// that it began goes on; a stream for what is to come does not.
func (p Principal) Ended(now time.Time) bool {
	return p.token != nil && !now.Before(p.token.ends)
}

// Credential returns the key or token in h. A request that presents two different
// keys, or one header twice, presents none: whichever were taken, something
// in front of us may have looked at the other.
func Credential(h http.Header) string {
	authorization, plain := h["Authorization"], h["X-Api-Key"]
	if len(authorization) > 1 || len(plain) > 1 {
		return ""
	}
	var key string
	if len(authorization) == 1 {
		scheme, token, _ := strings.Cut(authorization[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		key = strings.TrimLeft(token, " ")
	}
	if len(plain) == 1 {
		if key != "" && key != plain[0] {
			return ""
		}
		key = plain[0]
	}
	return key
}

// Routes is what is known of users and keys.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
}

// Activity is told which keys are used.
type Activity interface {
	// KeyUsed notes that the bridge was called with the key of that id.
	KeyUsed(b route.Backend, keyID string, at time.Time)
}

// Options are what an Authenticator stands on.
type Options struct {
	Routes   Routes
	Activity Activity
	// OAuth is by which access tokens are accepted. Where it is nil none are.
	OAuth *OAuth
	// AdminKey returns the key of the installation's administrators, empty
	// while it is not set.
	AdminKey func() []byte
	Metrics  prometheus.Registerer
}

// Authenticator tells who calls.
type Authenticator struct {
	routes   Routes
	activity Activity
	oauth    *OAuth
	adminKey func() []byte
	attempts *attempts
	keyUses  keyUses
}

// New returns an Authenticator.
func New(o Options) (*Authenticator, error) {
	a, err := newAttempts(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Authenticator{routes: o.Routes, activity: o.Activity, oauth: o.OAuth.cached(), adminKey: o.AdminKey, attempts: a}, nil
}

// Attempt is what a request presents.
type Attempt struct {
	Header http.Header
	Source netip.Addr
	// User is that of the path, empty if the path names no user.
	User v1alpha1.UserID
	// Endpoint ends the path of what is asked for, as a token has to name it.
	Endpoint string
}

// Authenticate returns who calls, and whether that one is let in: a path that names a
// user lets in that user alone. An unknown user, another user and an unknown
// key are the same answer, because only the principal is looked at. A caller who asks for
// another user's bridge is returned with the error, for the audit trail.
func (a *Authenticator) Authenticate(ctx context.Context, from Attempt) (p Principal, admitted bool, err error) {
	t := a.routes.Current()
	if t == nil {
		return Principal{}, false, problems.NotReady
	}
	presented := Credential(from.Header)
	if a.takesToken(presented) {
		return a.verifyToken(ctx, t, presented, from)
	}
	now := time.Now()
	p, err = verifyKey(t, presented, from.User, now)
	switch {
	case errors.Is(err, problems.Unauthorized) && p.User == "":
		return p, false, a.Refuse(from.Source, presented, p.KeyID)
	case err != nil:
		return p, false, err // No attempt: nobody guesses a good key.
	}
	a.noteKeyUse(t, p, now)
	return p, true, nil
}

// Bridge returns p's bridge in whatever state. Key and bridge come from one
// snapshot: a key that opened a deleted bridge must not open the one that took
// its place.
func (a *Authenticator) Bridge(p Principal) (route.Backend, error) {
	return BridgeOf(a.routes.Current(), p, time.Now())
}

// BridgeOf is Authenticator.Bridge by a snapshot, nil before the first one.
func BridgeOf(t *route.Table, p Principal, now time.Time) (route.Backend, error) {
	if t == nil {
		return route.Backend{}, problems.NotReady
	}
	if !p.StillValid(t, now) {
		return route.Backend{}, problems.Unauthorized
	}
	b, ok := t.Lookup(p.User)
	if !ok {
		return route.Backend{}, problems.NotFound
	}
	return b, nil
}

// Audited returns p as an audit entry has it.
func (p Principal) Audited() audit.Principal {
	if p.token != nil {
		return audit.Principal{Kind: audit.KindOAuth, ID: p.token.person.Subject.String(), Issuer: p.token.issuer}
	}
	return audit.Principal{Kind: audit.KindUserKey, ID: p.KeyID}
}

// Subject returns the text of who logged in, empty for a key.
func (p Principal) Subject() string {
	if p.token == nil {
		return ""
	}
	return p.token.person.Subject.String()
}

// ByToken reports whether a token was presented, and not a key.
func (p Principal) ByToken() bool { return p.token != nil }

// MayManage reports whether p may change the bridge: its keys, secrets and servers.
func (p Principal) MayManage() bool { return p.token == nil || p.token.manages }

// MayCall reports whether p may run tools.
func (p Principal) MayCall() bool { return p.token == nil || p.token.calls }

// expired reports whether e has stopped working by now.
func expired(e route.KeyEntry, now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt)
}
