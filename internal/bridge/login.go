// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// maxSent bounds how many of the last tokens are taken out of errors: a server
// repeats the one that it was just sent, or the one before.
const maxSent = 4

// login is what the bridge has of an OAuth login at a server. It outlives the
// grants, since a token that was refreshed is nothing new to anybody else.
type login struct {
	source *oauth.Source

	mu    sync.Mutex
	sent  []string // the last tokens, newest last
	saved map[uint64]bool
	seed  maphash.Seed
}

// newLogin returns the login of u, nil for a server without OAuth.
func newLogin(u *upstream, network http.RoundTripper) *login {
	if u.server.OAuth == nil {
		return nil
	}
	g := &login{saved: map[uint64]bool{}, seed: maphash.MakeSeed()}
	save := func(ctx context.Context, name string, value []byte) error {
		g.note(value)
		return u.save(ctx, name, value)
	}
	g.source = oauth.NewSource(*u.server.OAuth, u.secret, save, &http.Client{Transport: network}, oauth.SystemClock{})
	return g
}

// transport returns next with the login's token on every request.
func (g *login) transport(next http.RoundTripper) http.RoundTripper {
	if g == nil {
		return next
	}
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

// note remembers what was stored, which comes back as the user's secret.
func (g *login) note(value []byte) {
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
	if g == nil {
		return
	}
	g.source.Wipe()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = nil
}

// redactor returns what takes the tokens out of texts, and the secrets of s.
func (g *login) redactor(s config.Server, v secret.View) secret.Redactor {
	g.mu.Lock()
	hidden := slices.Clone(g.sent)
	g.mu.Unlock()
	for _, value := range revealed(s, v) {
		var fields map[string]any
		hidden = append(hidden, value)
		if json.Unmarshal([]byte(value), &fields) != nil {
			continue
		}
		for _, name := range []string{"access_token", "refresh_token"} {
			if token, ok := fields[name].(string); ok {
				hidden = append(hidden, token)
			}
		}
	}
	values := make(map[string][]byte, len(hidden))
	for _, value := range hidden {
		values[value] = []byte(value)
	}
	names := slices.Sorted(maps.Keys(values))
	return secret.NewSet("", values, nil).Grant(names).Redactor()
}

// save stores a secret of the user.
func (u *upstream) save(ctx context.Context, name string, value []byte) error {
	if s, ok := u.owner.(*standIn); ok && s.bridge.options.SaveSecret != nil {
		return s.bridge.options.SaveSecret(ctx, name, value)
	}
	return nil
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
	u.mu.Lock()
	view := l.grant.view
	u.mu.Unlock()
	return u.login.redactor(u.server, view)
}
