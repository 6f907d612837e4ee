// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// codeLife is how long a code is valid: a client redeems it at once.
const codeLife = time.Minute

// Grant is what a person allowed a client to do. The key of its entry is the hash of
// a secret that its code and its refresh tokens share; of their other halves it has
// hashes. Each step swaps the whole entry, so that of two requests with one code one
// gets tokens, and the other ends the grant. A used refresh token is exchanged for
// the same successor again for a moment, as retryFor says.
type Grant struct {
	Client    string   `json:"client"`
	Redirect  string   `json:"redirect"`
	Challenge string   `json:"challenge"`
	Resource  string   `json:"resource"`
	Scopes    []string `json:"scopes"`
	// Who is the person. The store has their RefreshToken only in Upstream, encrypted with
	// the secret of the grant. The client has this secret, and the store does not.
	Who      flow.Identity `json:"who"`
	Upstream string        `json:"upstream,omitempty"`
	// Asked is when the provider was asked last who the person is, and Confirmed when it
	// said so last; both are zero since the login. Asking is whether a request is asking.
	Asked     time.Time `json:"asked,omitzero"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	Asking    bool      `json:"asking,omitempty"`
	// Bridge is the UID of the bridge that the person agreed to, and User its user.
	// They are empty if Resource names the user, and in entries of earlier versions.
	Bridge types.UID       `json:"bridge,omitempty"`
	User   v1alpha1.UserID `json:"user,omitempty"`
	// Provider is where the person logged in, and Version the version of its
	// configuration at that time.
	Provider string `json:"provider"`
	Version  string `json:"version"`
	// Began is when the person came back from the provider. Offered is whether their
	// bridge was made when they agreed.
	Began   time.Time `json:"began"`
	Offered bool      `json:"offered,omitempty"`
	// Code is the hash of the code's proof, and CodeEnds when the code ends. Create
	// sets them, and Ends.
	Code     string    `json:"code"`
	CodeEnds time.Time `json:"codeEnds"`
	// Refresh is the hash of the proof of the last refresh token, empty until the code
	// is redeemed. After Ends there are no more refresh tokens.
	Refresh string    `json:"refresh,omitempty"`
	Ends    time.Time `json:"ends"`
	// Former is the refresh token before the last one, nil if there was none.
	Former *previousToken `json:"former,omitempty"`
}

// Redeemed reports whether the code of a grant has been redeemed.
func (g *Grant) Redeemed() bool { return g.Refresh != "" }

// HasCode reports whether a credential is the code of a grant.
func (g *Grant) HasCode(c Credential) bool {
	return c.Kind == Code && flow.Same(g.Code, flow.Hash(c.proof))
}

// Refreshes reports whether a refresh token is the last one of a grant, or was used a
// moment ago, so that it may be used again.
func (g *Grant) Refreshes(c Credential, now time.Time) bool {
	_, retry := g.successor(c, now)
	return retry || c.Kind == Refresh && flow.Same(g.Refresh, flow.Hash(c.proof))
}

// Stored is a grant and its entry in the store.
type Stored struct {
	Grant
	// id is a secret, and key its hash.
	id, key string
	value   []byte
}

// Grants creates, finds and ends grants. It is safe for concurrent use.
type Grants struct {
	Store flow.Store
	// Random is the system's randomness.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
	// Lifetime is how long a grant lasts, and Idle how long without a refresh.
	Lifetime, Idle time.Duration
}

// Create stores a new grant, and returns the code for it.
func (s *Grants) Create(ctx context.Context, g Grant) (code Credential, err error) {
	halves, err := flow.NewSecrets(s.Random, 2)
	if err != nil {
		return Credential{}, err
	}
	code, now := Credential{Code, halves[0], halves[1]}, s.Now()
	g.Code, g.CodeEnds, g.Ends = flow.Hash(code.proof), now.Add(codeLife), now.Add(s.Lifetime)
	value, err := encode(code.grant, g)
	if err != nil {
		return Credential{}, err
	}
	if err := s.Store.Put(ctx, flow.KindGrant, flow.Hash(code.grant), value, g.CodeEnds); err != nil {
		return Credential{}, fmt.Errorf("store grant: %w", err)
	}
	return code, nil
}

// ErrNotFound says that a credential has no grant, or that its grant has ended.
var ErrNotFound = errors.New("no such grant")

// Load returns the grant of a credential, or ErrNotFound. It does not check the
// credential's proof.
func (s *Grants) Load(ctx context.Context, c Credential) (Stored, error) {
	key := flow.Hash(c.grant)
	value, err := s.Store.Get(ctx, flow.KindGrant, key)
	if errors.Is(err, flow.ErrNotFound) {
		return Stored{}, ErrNotFound
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read grant: %w", err)
	}
	g := Stored{id: c.grant, key: key, value: value}
	if g.Grant, err = decode(c.grant, value); err != nil {
		return Stored{}, fmt.Errorf("decode grant: %w", err)
	}
	if !s.Now().Before(g.Ends) {
		return Stored{}, ErrNotFound
	}
	return g, nil
}

// End ends a grant.
func (s *Grants) End(ctx context.Context, g Stored) error {
	if err := s.Store.Delete(ctx, flow.KindGrant, g.key); err != nil {
		return fmt.Errorf("end grant: %w", err)
	}
	return nil
}
