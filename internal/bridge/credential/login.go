// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// maxSent limits how many of the last tokens are redacted from errors, access and refresh tokens
// together: a server can repeat the current token or the previous one.
const maxSent = 8

// Logins are the OAuth logins at the bridge's servers. Servers with the same login share it, and a
// login outlives the servers it is used for: only the login may hold the newest tokens, and an
// authorization server treats the reuse of an old refresh token as theft.
type Logins struct {
	save    func(ctx context.Context, name string, value []byte) error
	turn    oauth.TurnFunc
	network http.RoundTripper

	mu  sync.Mutex
	set *secret.Set       // the user's secrets, nil until they arrive
	all map[string]*Login // by encoded configuration; never removed
}

// NewLogins returns the logins of a bridge. If save is nil, tokens are lost when the process ends.
// If turn is nil, no other process refreshes them.
func NewLogins(save func(context.Context, string, []byte) error, turn oauth.TurnFunc, network http.RoundTripper) *Logins {
	return &Logins{save: save, turn: turn, network: network, all: map[string]*Login{}}
}

// For returns the login of a server, nil for one without OAuth.
func (a *Logins) For(c *bridgeconfig.OAuth) *Login {
	if c == nil {
		return nil
	}
	key, err := json.Marshal(c) //nolint:gosec // G117: The client secret here is a secret's name.
	if err != nil {
		panic(err) // The struct has only strings: encoding cannot fail.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[string(key)] == nil {
		a.all[string(key)] = newLogin(*c, a)
	}
	return a.all[string(key)]
}

// Use replaces the secrets of all logins.
func (a *Logins) Use(set *secret.Set) {
	a.mu.Lock()
	a.set = set
	all := slices.Collect(maps.Values(a.all))
	a.mu.Unlock()
	for _, g := range all {
		// A secret that cannot be decrypted now keeps its last value.
		if !set.Grant([]string{g.config.Token}).Unreadable(g.config.Token) {
			g.Source.Refill(g.secret)
		}
	}
}

// Wipe erases all logins from memory.
func (a *Logins) Wipe() {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.all))
	a.mu.Unlock()
	var wiping sync.WaitGroup
	for _, g := range all {
		wiping.Go(g.wipe)
	}
	wiping.Wait()
}

// Login is the state of one OAuth login. It outlives grants, because a refreshed token changes
// nothing for the login's users.
type Login struct {
	config bridgeconfig.OAuth
	logins *Logins
	Source *oauth.Source

	mu    sync.Mutex
	sent  []string // the last tokens, newest last
	saved map[uint64]bool
	seed  maphash.Seed
}

func newLogin(c bridgeconfig.OAuth, all *Logins) *Login {
	g := &Login{config: c, logins: all, saved: map[uint64]bool{}, seed: maphash.MakeSeed()}
	g.Source = oauth.NewSource(c, g.secret, g.save, &http.Client{Transport: all.network}, clock.System{})
	g.Source.TakeTurns(g.turn)
	return g
}

// secret returns the user's secret of this name. bridgeconfig.Validate requires that every server
// with this login may use it.
func (g *Login) secret(name string) (string, bool) {
	g.logins.mu.Lock()
	defer g.logins.mu.Unlock()
	if name != g.config.Token && name != g.config.ClientSecret {
		return "", false
	}
	return g.logins.set.Grant([]string{name}).Lookup(name)
}

// save stores a secret of the user.
func (g *Login) save(ctx context.Context, name string, value []byte) error {
	g.note(value)
	if g.logins.save == nil {
		return nil
	}
	return g.logins.save(ctx, name, value)
}

// turn waits until no other process refreshes the login. The login continues with the stored
// tokens, so the returned value counts as its own.
func (g *Login) turn(ctx context.Context, name string) (value []byte, end func(), err error) {
	if g.logins.turn == nil {
		return nil, func() {}, nil
	}
	value, end, err = g.logins.turn(ctx, name)
	if value != nil {
		g.note(value)
	}
	return value, end, err
}

// Transport returns next with the login's token on every request.
func (g *Login) Transport(next http.RoundTripper) http.RoundTripper {
	return g.Source.Transport(&witnessed{next: next, login: g})
}

// witnessed records the tokens that are sent, so that they are redacted from errors.
type witnessed struct {
	next  http.RoundTripper
	login *Login
}

// RoundTrip implements http.RoundTripper.
func (w *witnessed) RoundTrip(r *http.Request) (*http.Response, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		w.login.send(token)
	}
	return w.next.RoundTrip(r)
}

func (g *Login) send(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.sent, token) {
		return
	}
	g.sent = append(g.sent, token)
	if len(g.sent) > maxSent {
		g.sent = slices.Delete(g.sent, 0, len(g.sent)-maxSent)
	}
}

// note records a stored value, which returns later as the user's secret, and redacts it from
// errors.
func (g *Login) note(value []byte) {
	for _, token := range tokensIn([]string{string(value)}) {
		g.send(token)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved[maphash.Bytes(g.seed, value)] = true
}

// Stored reports whether the login itself stored the value.
func (g *Login) Stored(value string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.saved[maphash.String(g.seed, value)]
}

// wipe erases the login from memory.
func (g *Login) wipe() {
	g.Source.Wipe()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = nil
}

// Redactor returns a redactor of the secrets of hide and of the tokens that were sent since.
func (g *Login) Redactor(hide secret.Redactor) secret.Redactor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return hide.With(g.sent...)
}

// tokensIn returns the tokens within the values of secrets, and the refresh tokens and client
// secrets. A server gets them without the JSON around them.
func tokensIn(values []string) (tokens []string) {
	for _, value := range values {
		var fields map[string]any
		if json.Unmarshal([]byte(value), &fields) != nil {
			continue
		}
		for _, name := range []string{"access_token", "refresh_token", "authorization_code", "code_verifier"} {
			if token, ok := fields[name].(string); ok {
				tokens = append(tokens, token)
			}
		}
	}
	return tokens
}
