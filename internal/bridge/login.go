// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// maxSent bounds how many of the last tokens are taken out of errors, access and
// refresh tokens together: a server repeats the one that it was just sent, or the
// one before.
const maxSent = 8

// logins are those at the bridge's servers with OAuth. Each is there once, however
// many servers use it and however often these are replaced: its newest tokens may
// be nowhere else, and an authorization server takes who shows a used one for a
// thief.
type logins struct {
	options Options
	network http.RoundTripper

	mu  sync.Mutex
	set *secret.Set       // what the user's secrets are, nil while they are not there
	all map[string]*login // by the encoded configuration; they stay until the bridge ends
}

func newLogins(o Options, network http.RoundTripper) *logins {
	return &logins{options: o, network: network, all: map[string]*login{}}
}

// of returns the login of a server, nil for one without OAuth.
func (a *logins) of(c *config.OAuth) *login {
	if c == nil {
		return nil
	}
	key, err := json.Marshal(c) //nolint:gosec // G117: The client secret here is the name of one.
	if err != nil {
		panic(err) // Texts alone: only a programming error cannot be encoded.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[string(key)] == nil {
		a.all[string(key)] = newLogin(*c, a)
	}
	return a.all[string(key)]
}

// use has the logins go on with these secrets.
func (a *logins) use(set *secret.Set) {
	a.mu.Lock()
	a.set = set
	all := slices.Collect(maps.Values(a.all))
	a.mu.Unlock()
	for _, g := range all {
		// A secret that does not open now is the one that it was.
		if !set.Grant([]string{g.config.Token}).Unreadable(g.config.Token) {
			g.source.Refill(g.secret)
		}
	}
}

// wipe forgets all of them.
func (a *logins) wipe() {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.all))
	a.mu.Unlock()
	var wiping sync.WaitGroup
	for _, g := range all {
		wiping.Go(g.wipe)
	}
	wiping.Wait()
}

// authorizing is the way to authorization servers, which are not what errPlain
// speaks of.
type authorizing struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a authorizing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	if errors.Is(err, errPlain) {
		return nil, oauth.ErrPlain
	}
	return resp, err
}

// login is what the bridge has of an OAuth login. It outlives the grants, since a
// token that was refreshed is nothing new to anybody else.
type login struct {
	config config.OAuth
	logins *logins
	source *oauth.Source

	mu    sync.Mutex
	sent  []string // the last tokens, newest last
	saved map[uint64]bool
	seed  maphash.Seed
}

func newLogin(c config.OAuth, all *logins) *login {
	g := &login{config: c, logins: all, saved: map[uint64]bool{}, seed: maphash.MakeSeed()}
	g.source = oauth.NewSource(c, g.secret, g.save, &http.Client{Transport: all.network}, clock.System{})
	g.source.TakeTurns(g.turn)
	return g
}

// secret returns the user's secret of this name. config.Validate has those of a
// login be granted to every server that uses it.
func (g *login) secret(name string) (string, bool) {
	g.logins.mu.Lock()
	defer g.logins.mu.Unlock()
	if name != g.config.Token && name != g.config.ClientSecret {
		return "", false
	}
	return g.logins.set.Grant([]string{name}).Lookup(name)
}

// save stores a secret of the user.
func (g *login) save(ctx context.Context, name string, value []byte) error {
	g.note(value)
	if g.logins.options.SaveSecret == nil {
		return nil
	}
	return g.logins.options.SaveSecret(ctx, name, value)
}

// turn waits until no other process refreshes the login. What is stored then is
// what the login goes on with, and so nothing new to others here.
func (g *login) turn(ctx context.Context, name string) (value []byte, end func(), err error) {
	if g.logins.options.Turn == nil {
		return nil, func() {}, nil
	}
	value, end, err = g.logins.options.Turn(ctx, name)
	if value != nil {
		g.note(value)
	}
	return value, end, err
}

// transport returns next with the login's token on every request.
func (g *login) transport(next http.RoundTripper) http.RoundTripper {
	return g.source.Transport(&witnessed{next: next, login: g})
}

// witnessed notes the tokens that are sent, so that no error repeats them.
type witnessed struct {
	next  http.RoundTripper
	login *login
}

// RoundTrip implements http.RoundTripper.
func (w *witnessed) RoundTrip(r *http.Request) (*http.Response, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		w.login.send(token)
	}
	return w.next.RoundTrip(r)
}

func (g *login) send(token string) {
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

// note remembers what was stored, which comes back as the user's secret, and that
// no error repeats it.
func (g *login) note(value []byte) {
	for _, token := range tokensIn([]string{string(value)}) {
		g.send(token)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved[maphash.Bytes(g.seed, value)] = true
}

// own reports whether the login itself has stored the value.
func (g *login) own(value string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.saved[maphash.String(g.seed, value)]
}

// wipe forgets the login.
func (g *login) wipe() {
	g.source.Wipe()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = nil
}

// redactor returns what takes out of texts what hide does, and the tokens that
// were sent since.
func (g *login) redactor(hide secret.Redactor) secret.Redactor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return hide.With(g.sent...)
}

// tokensIn returns the tokens in the values of secrets, and what they are got by,
// which a server is sent without what is around them.
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

// secret returns the secret of this name as it is granted now.
func (u *upstream) secret(name string) (string, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.grant == nil {
		return "", false
	}
	return u.grant.view.Lookup(name)
}

// hides returns what takes the secrets of a connection out of texts.
func (l *link) hides() secret.Redactor {
	u := l.upstream
	if u == nil || u.login == nil {
		return l.grant.hide
	}
	return u.login.redactor(l.grant.hide)
}
