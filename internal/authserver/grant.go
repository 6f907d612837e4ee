// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// codeLife is how long a code is good: a client redeems it at once.
const codeLife = time.Minute

// grant is what a person let a client have. It is stored by the hash of a secret
// that its code and its refresh tokens have in common; of the rest of them it has
// hashes. Each step replaces the whole of it by comparing and swapping, so that of
// two requests with one code one gets something, and the other ends the grant. A
// refresh token is given its successor again for a moment, as retryFor says.
type grant struct {
	Client    string        `json:"client"`
	Redirect  string        `json:"redirect"`
	Challenge string        `json:"challenge"`
	Resource  string        `json:"resource"`
	Scopes    []string      `json:"scopes"`
	Who       flow.Identity `json:"who"`
	// Provider is where the person logged in, and Version which of its
	// configurations that was.
	Provider string `json:"provider"`
	Version  string `json:"version"`
	// Began is when the person came back from the provider, and Offered whether
	// their bridge was made when they agreed.
	Began   time.Time `json:"began"`
	Offered bool      `json:"offered,omitempty"`
	// Code is the hash of the code's proof, and CodeEnds when it ends.
	Code     string    `json:"code"`
	CodeEnds time.Time `json:"codeEnds"`
	// Refresh is the hash of the proof of the refresh token that is the last one,
	// empty while the code is not redeemed. Ends is when there are no more.
	Refresh string    `json:"refresh,omitempty"`
	Ends    time.Time `json:"ends"`
	// Former is of the refresh token before that one, nil while there was none.
	Former *former `json:"former,omitempty"`
}

// held is a grant with what it is stored by.
type held struct {
	grant
	// id is the secret half of which key is the hash.
	id, key string
	value   []byte
}

// grant stores what the person of p agreed to, and returns the code for it, or
// errNoClient where the client has ended meanwhile.
func (s *Server) grant(ctx context.Context, p pending) (code string, err error) {
	if err := s.useClient(ctx, p.Ask.Client.ID); err != nil {
		return "", err
	}
	halves, err := s.secrets(2)
	if err != nil {
		return "", err
	}
	given, now := credential{halves[0], halves[1]}, s.Now()
	g := grant{
		Client: p.Ask.Client.ID, Redirect: p.Ask.Redirect, Challenge: p.Ask.Challenge,
		Resource: p.Ask.Resource, Scopes: p.Ask.Scopes, Who: *p.Who, Provider: p.Provider, Version: p.Version,
		Began: p.Came, Offered: p.Offered != "", Code: hashOf(given.proof), CodeEnds: now.Add(codeLife), Ends: now.Add(s.RefreshToken),
	}
	if err := s.Store.Put(ctx, flow.KindGrant, hashOf(given.grant), encode(g), g.CodeEnds); err != nil {
		return "", fmt.Errorf("store grant: %w", err)
	}
	return given.text(kindCode), nil
}

// errNoGrant is that there is no grant of a credential, which may have ended.
var errNoGrant = errors.New("no such grant")

// held returns the grant of a credential, or errNoGrant.
func (s *Server) held(ctx context.Context, c credential) (held, error) {
	key := hashOf(c.grant)
	value, err := s.Store.Get(ctx, flow.KindGrant, key)
	if errors.Is(err, flow.ErrNotFound) {
		return held{}, errNoGrant
	}
	if err != nil {
		return held{}, fmt.Errorf("read grant: %w", err)
	}
	h := held{id: c.grant, key: key, value: value}
	if err := json.Unmarshal(value, &h.grant); err != nil {
		return held{}, fmt.Errorf("decode grant: %w", err)
	}
	if !s.Now().Before(h.Ends) {
		return held{}, errNoGrant
	}
	return h, nil
}

// advance gives a grant its next refresh token for the one that was presented, or
// for its code, unless another request has done so meanwhile: then the error is
// flow.ErrNotFound.
func (s *Server) advance(ctx context.Context, h held, presented credential, proof string) error {
	next, now := h.grant, s.Now()
	if h.Refresh != "" {
		next.Former = formerOf(presented.proof, proof, now)
	}
	next.Refresh = hashOf(proof)
	idle := now.Add(s.RefreshIdle)
	if next.Ends.Before(idle) {
		idle = next.Ends
	}
	if err := s.Store.Swap(ctx, flow.KindGrant, h.key, h.value, encode(next), idle); err != nil {
		return fmt.Errorf("advance grant: %w", err)
	}
	return nil
}

// end ends a grant, and returns why if that succeeded.
func (s *Server) end(ctx context.Context, h held, why error) error {
	if err := s.Store.Delete(ctx, flow.KindGrant, h.key); err != nil {
		return fmt.Errorf("end grant: %w", err)
	}
	return why
}

// replayed ends a grant whose code or refresh token came a second time: one of
// those who had it is not the client, and nobody can say which (RFC 6749, sections
// 4.1.2 and 10.4).
func (s *Server) replayed(c surface.Call, h held, what replay) error {
	// Whoever asked may have hung up, and it has to end all the same.
	if err := s.end(context.WithoutCancel(c.Request().Context()), h, nil); err != nil {
		return err
	}
	s.metrics.replays.WithLabelValues(string(what)).Inc()
	if err := c.Audit(s.loginAct(actReplay, h.Who, h.Client, h.Resource)); err != nil {
		return err
	}
	return what.refusal()
}

// replay is what was used again that can be used once.
type replay string

// What can be.
const (
	replayCode    replay = "code"
	replayRefresh replay = "refresh_token"
)

// refusal is what its sender is told.
func (r replay) refusal() error {
	if r == replayCode {
		return errCode
	}
	return errRefresh
}
