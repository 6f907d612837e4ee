// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// retryFor is how long a refresh token that was used up gives its successor once
// more. Common clients refresh one token from several calls or processes at once,
// and an answer that does not arrive is asked for again; all of them must end with
// one token. A thief who is that quick gets what a thief who comes first gets: the
// next refresh of one of the two is a replay.
const retryFor = 30 * time.Second

// former is what a grant has of the refresh token before its last one.
type former struct {
	// Proof is the hash of its proof.
	Proof string `json:"proof"`
	// Next is the proof of its successor, hidden by what only who has the former one
	// can make. Until Ends it is given again.
	Next string    `json:"next"`
	Ends time.Time `json:"ends"`
}

// formerOf returns what is kept of a refresh token whose successor is next.
func formerOf(proof, next string, now time.Time) *former {
	return &former{Proof: hashOf(proof), Next: hide(proof, next), Ends: now.Add(retryFor)}
}

// again returns the successor of a refresh token that was used up a moment ago.
func (g *grant) again(proof string, now time.Time) (next string, ok bool) {
	f := g.Former
	if f == nil || !now.Before(f.Ends) || !same(f.Proof, hashOf(proof)) {
		return "", false
	}
	next = hide(proof, f.Next)
	return next, same(g.Refresh, hashOf(next))
}

// hide returns a secret under a pad that is made of another one, and of what was
// hidden the secret again. No pad hides two secrets: each token has one successor.
func hide(by, secret string) string {
	bytes, err := base64.RawURLEncoding.DecodeString(secret)
	if err != nil || len(bytes) != sha256.Size {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(by))
	_, _ = mac.Write([]byte("hb/v1/refresh-successor")) // A hash takes everything.
	subtle.XORBytes(bytes, bytes, mac.Sum(nil))
	return base64.RawURLEncoding.EncodeToString(bytes)
}

// turn uses a code or a refresh token up, and returns the refresh token that
// follows it. Of several requests with one refresh token all get the same.
func (s *Server) turn(c surface.Call, h held, presented credential, what replay) (credential, error) {
	if proof, ok := h.again(presented.proof, s.Now()); ok && what == replayRefresh {
		return credential{h.id, proof}, nil
	}
	secret, err := s.secret()
	if err != nil {
		return credential{}, err
	}
	next := credential{h.id, secret}
	err = s.advance(c.Request().Context(), h, presented, next.proof)
	if errors.Is(err, flow.ErrNotFound) {
		return s.overtaken(c, presented, next, what)
	}
	return next, err
}

// overtaken is turn for a request that another one has overtaken, which ended the
// grant or used up what both had, or whose own change was made though nobody said
// so.
func (s *Server) overtaken(c surface.Call, presented, next credential, what replay) (credential, error) {
	h, err := s.held(c.Request().Context(), presented)
	switch {
	case errors.Is(err, errNoGrant):
		return credential{}, what.refusal()
	case err != nil:
		return credential{}, fmt.Errorf("after another request: %w", err)
	case same(h.Refresh, hashOf(next.proof)):
		return next, nil
	}
	if proof, ok := h.again(presented.proof, s.Now()); ok && what == replayRefresh {
		return credential{h.id, proof}, nil
	}
	return credential{}, s.replayed(c, h, what)
}
