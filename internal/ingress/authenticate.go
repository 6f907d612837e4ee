// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// principal is who calls, as proved by a key or an access token.
type principal struct {
	user  v1alpha1.UserID
	keyID string
	hash  apikey.Hash
	// grant is what a token proved, nil for a key.
	grant *grant
}

// decoy is compared where the table has no key of the presented id, so that
// an unknown id takes the time of a known one. No key hashes to it as far as
// anybody knows.
var decoy = []apikey.Hash{{}}

// identify returns whose key presented is; where it is nobody's, of the
// principal only the id that was presented, if there was one. Every refusal
// takes the same way: one hash of what was presented and at least one
// comparison.
func identify(t *route.Table, presented string, now time.Time) (principal, bool) {
	key, err := apikey.Parse(presented)
	var entries []route.KeyEntry
	if err == nil && key.Kind == apikey.KindUser {
		entries = t.Keys(key.ID)
	}
	var room [4]apikey.Hash // Users have one key, or two while they change it.
	hashes := room[:0]
	for i := range entries {
		hashes = append(hashes, entries[i].Hash)
	}
	if len(hashes) == 0 {
		hashes = decoy
	}
	i, ok := apikey.Match(presented, hashes)
	if !ok || i >= len(entries) || expired(entries[i], now) {
		return principal{keyID: key.ID}, false
	}
	return principal{user: entries[i].User, keyID: key.ID, hash: entries[i].Hash}, true
}

// admitted reports whether that by which p was identified still opens p's
// bridge. A request that waited asks again before it goes on. A token that has
// ended meanwhile lets what was begun with it end.
func (p principal) admitted(t *route.Table, now time.Time) bool {
	if p.grant != nil {
		return p.grant.opens(t, p.user)
	}
	for _, e := range t.Keys(p.keyID) {
		if e.User == p.user && e.Hash == p.hash && !expired(e, now) {
			return true
		}
	}
	return false
}

// ended reports whether the token by which p was identified has ended. A call
// that it began goes on; a stream for what is to come does not.
func (p principal) ended(now time.Time) bool {
	return p.grant != nil && !now.Before(p.grant.ends)
}

// presentedKey returns the key in h. A request that presents two different
// keys, or one header twice, presents none: whichever were taken, something
// in front of us may have looked at the other.
func presentedKey(h http.Header) string {
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

// authenticate leaves the principal for later steps, when it is the user of
// the path, or there is none in it. An unknown user and somebody else's are the
// same case, because only the principal is looked at.
func (s *Server) authenticate(c *gin.Context) error {
	t := s.routes.Current()
	if t == nil {
		return errNotReady
	}
	presented := presentedKey(c.Request.Header)
	if s.takesToken(presented) {
		return s.authenticateToken(c, t, presented)
	}
	now := time.Now()
	p, ok := identify(t, presented, now)
	if !ok {
		return s.refuseAttempt(c.Request, presented, p.keyID)
	}
	if asked := c.Param("userId"); asked != "" && asked != string(p.user) {
		recordOf(c.Request.Context()).by(p)
		stepsOf(c).principal = p
		return errNotFound
	}
	s.letIn(c, p)
	s.noteKeyUse(t, p, now)
	return nil
}

// letIn leaves p for later steps.
func (s *Server) letIn(c *gin.Context, p principal) {
	recordOf(c.Request.Context()).by(p)
	found := stepsOf(c)
	found.principal, found.authenticated = p, true
}

// principalOf returns who authenticate let in.
func principalOf(c *gin.Context) principal {
	found := stepsOf(c)
	if !found.authenticated {
		panic("ingress: a step before authenticate asks for the principal")
	}
	return found.principal
}

// expired reports whether e has stopped working by now.
func expired(e route.KeyEntry, now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt)
}
