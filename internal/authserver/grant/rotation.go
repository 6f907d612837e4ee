// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// retryFor is how long a used refresh token is exchanged for its successor once more.
// Common clients refresh one token from several calls or processes at once, and repeat
// a request whose answer is lost; all of them must end with one token. A thief in that
// time gains what a thief gains who uses the token first: the next refresh of one of
// the two is a replay.
const retryFor = 30 * time.Second

// previousToken is the refresh token before the last one of a grant.
type previousToken struct {
	// Proof is the hash of its proof.
	Proof string `json:"proof"`
	// Next is the proof of its successor, encrypted with its own proof. Until Ends it
	// is given out again.
	Next string    `json:"next"`
	Ends time.Time `json:"ends"`
}

// successor returns the successor of a refresh token that was used a moment ago.
func (g *Grant) successor(c Credential, now time.Time) (proof string, ok bool) {
	f := g.Former
	if c.Kind != Refresh || f == nil || !now.Before(f.Ends) || !flow.Same(f.Proof, flow.Hash(c.proof)) {
		return "", false
	}
	proof = xorPad(c.proof, f.Next)
	return proof, flow.Same(g.Refresh, flow.Hash(proof))
}

// xorPad encrypts a secret with a pad that is derived from another secret, and
// decrypts what it encrypted. Each token has one successor, so that no pad is used for
// two secrets.
func xorPad(by, secret string) string {
	b, err := base64.RawURLEncoding.DecodeString(secret)
	if err != nil || len(b) != sha256.Size {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(by))
	_, _ = mac.Write([]byte("hb/v1/refresh-successor")) // A hash never fails to write.
	subtle.XORBytes(b, b, mac.Sum(nil))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ErrReplayed says that a code or a refresh token was used before. The caller ends the
// grant.
var ErrReplayed = errors.New("the code or the refresh token was used before")

// Rotate uses up a code or a refresh token, and returns the next refresh token.
// Several requests with one refresh token get the same one. It returns ErrNotFound if
// the grant has ended meanwhile, or ErrReplayed.
func (s *Grants) Rotate(ctx context.Context, g Stored, presented Credential) (Credential, error) {
	proof, err := flow.NewSecret(s.Random)
	if err != nil {
		return Credential{}, err
	}
	next := Credential{Refresh, g.id, proof}
	for range maxTries {
		if proof, ok := g.successor(presented, s.Now()); ok {
			return Credential{Refresh, g.id, proof}, nil
		}
		err := s.advance(ctx, g, presented, next)
		if !errors.Is(err, flow.ErrNotFound) {
			return next, err
		}
		// Another request has changed or ended the grant. The change can also be this
		// one's: the store may have made it and reported an error.
		g, err = s.Load(ctx, presented)
		switch {
		case errors.Is(err, ErrNotFound):
			return Credential{}, err
		case err != nil:
			return Credential{}, fmt.Errorf("after another request: %w", err)
		case flow.Same(g.Refresh, flow.Hash(next.proof)):
			return next, nil
		case !g.accepts(presented, s.Now()):
			return Credential{}, ErrReplayed
		}
	}
	return Credential{}, errBusy
}

// accepts reports whether a grant gives tokens for its code, or for a refresh token.
func (g *Grant) accepts(c Credential, now time.Time) bool {
	return !g.Redeemed() && g.HasCode(c) || g.Refreshes(c, now)
}

// advance stores the next refresh token of a grant. Its error is flow.ErrNotFound if
// another request has changed the grant.
func (s *Grants) advance(ctx context.Context, g Stored, presented, next Credential) error {
	changed, now := g.Grant, s.Now()
	if g.Redeemed() {
		changed.Former = &previousToken{
			Proof: flow.Hash(presented.proof), Next: xorPad(presented.proof, next.proof), Ends: now.Add(retryFor),
		}
	}
	changed.Refresh = flow.Hash(next.proof)
	return s.replace(ctx, &g, changed)
}
