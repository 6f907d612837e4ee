// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

// grant is what a server gets of the user's secrets, until they change. All
// connections of a grant send the same headers.
type grant struct {
	view secret.View
	// fault is why the server is out of service, empty where it is not.
	fault string
	// waiting says that the secrets are not there yet, and unconnected that the
	// login is not, of a server that uses one.
	waiting, unconnected bool
	client               *http.Client
	// launch is the program that the server is, with its secrets, and running
	// the transport to it once there was one.
	launch  stdio.Launch
	once    sync.Once
	running mcp.Transport
	hide    secret.Redactor
	// life ends when another grant takes this one's place.
	life context.Context
	end  context.CancelFunc
	// rest is when the calls must have ended too that were in flight then.
	rest context.Context
	cut  context.CancelCauseFunc
}

// newGrant returns what s gets of the secrets. A nil set says that they are not
// there yet, which only matters to a server that is granted some.
func newGrant(ctx context.Context, s config.Server, set *secret.Set, next http.RoundTripper) *grant {
	g := &grant{view: set.Grant(s.Secrets), waiting: set == nil && len(s.Secrets) > 0}
	g.rest, g.cut = context.WithCancelCause(ctx)
	g.life, g.end = context.WithCancel(g.rest)
	// Taken now: the values are wiped when others come, and errors of what goes
	// on with them come later.
	g.hide = g.view.Redactor()
	if s.OAuth != nil {
		g.hide = g.hide.With(tokensIn(revealed(s, g.view))...)
	}
	if !g.waiting {
		g.fault, g.unconnected = fault(s, g.view), unconnected(s, g.view)
	}
	headers := http.Header{}
	if g.usable() {
		headers, g.fault = expand(s, g.view)
	}
	if g.usable() {
		g.launch, g.fault = launchOf(s, g.view)
	}
	g.client = newClient(&authorized{next: next, origin: originOf(s.URL), headers: headers})
	return g
}

// usable reports whether the server can be connected to.
func (g *grant) usable() bool { return g.fault == "" && !g.waiting }

// expire ends the grant's life at once and cuts off after grace what is in
// flight.
func (g *grant) expire(grace time.Duration) {
	g.end()
	cut := g.cut // and not g, of which nothing need stay in memory so long
	time.AfterFunc(grace, func() { cut(errStale) })
}

// over reports whether another grant has taken this one's place.
func (g *grant) over() bool { return g.life.Err() != nil }

// fault returns what is wrong with the secrets of s, empty for nothing.
func fault(s config.Server, v secret.View) string {
	var wrong []string
	for _, name := range s.Secrets {
		if v.Unreadable(name) {
			wrong = append(wrong, fmt.Sprintf("secret %s cannot be opened", name))
		}
	}
	for _, name := range s.Required() {
		if _, ok := v.Lookup(name); !ok && !v.Unreadable(name) {
			wrong = append(wrong, fmt.Sprintf("secret %s is not set", name))
		}
	}
	return strings.Join(wrong, "; ")
}

// expand returns the headers of s, or what is wrong with them.
func expand(s config.Server, v secret.View) (http.Header, string) {
	headers := http.Header{}
	for _, h := range s.Headers {
		t, err := template.Parse(h.Value)
		if err != nil {
			return nil, fmt.Sprintf("header %s: %v", h.Name, err)
		}
		value, missing, err := t.ExpandHeader(h.Name, v.Lookup)
		if err != nil {
			return nil, err.Error()
		}
		if len(missing) > 0 {
			return nil, fmt.Sprintf("secret %s is not set", missing[0])
		}
		headers.Set(h.Name, value)
	}
	return headers, ""
}

// origin is where a server is: requests to elsewhere carry none of its headers.
type origin struct {
	scheme, host string
}

func originOf(s string) origin {
	u, err := url.Parse(s)
	if err != nil {
		return origin{} // config.Validate lets none such through; it matches nothing.
	}
	return origin{scheme: u.Scheme, host: u.Host}
}

// holds reports whether u is there. A server that moved from http to https is
// the same one; one that moved back is not, since anybody could listen.
func (o origin) holds(u *url.URL) bool {
	return o.host != "" && u.Host == o.host && (u.Scheme == o.scheme || u.Scheme == "https")
}

// authorized sets a server's headers on the requests that go to it.
type authorized struct {
	next    http.RoundTripper
	origin  origin
	headers http.Header
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(a.headers) == 0 || !a.origin.holds(r.URL) {
		return a.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	maps.Copy(r.Header, a.headers)
	return a.next.RoundTrip(r)
}

// only sends the requests that go to a server through its login, and others,
// which must not have its token, past it.
type only struct {
	server, others http.RoundTripper
	origin         origin
}

// RoundTrip implements http.RoundTripper.
func (o *only) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.origin.holds(r.URL) {
		return o.server.RoundTrip(r)
	}
	return o.others.RoundTrip(r)
}

// regrant gives u another set of secrets. Where what it is granted has changed,
// new connections are made, and the former ones end with what is in flight on
// them; else nothing happens.
func (u *upstream) regrant(ctx context.Context, set *secret.Set) {
	next := newGrant(ctx, u.server, set, u.transport)
	u.mu.Lock()
	before := u.grant
	if next.waiting == before.waiting && u.same(before.view, next.view) {
		// The values are equal, and those of before are about to be wiped.
		before.view = next.view
		u.mu.Unlock()
		next.cut(errStale)
		return
	}
	u.grant = next
	u.reason, u.expired = "", false // They are about what was granted before.
	stale := u.links
	u.links = map[*link]bool{}
	// Before anybody can connect with the new grant.
	for l := range stale {
		l.retire()
	}
	var notes []string
	switch {
	case next.fault != "":
		notes = u.withdraw(next.fault)
	case before.fault != "":
		u.health = u.health.InService(time.Now())
	}
	u.mu.Unlock()
	before.expire(u.timing.grace)
	switch {
	case next.fault != "":
		u.log.Warn("server is out of service", "error", next.fault)
	case !before.waiting:
		u.log.Info("the server's secrets changed, connecting with the new ones")
	}
	for _, note := range notes {
		u.changed(note)
	}
}

// same reports whether a server is granted the same as before. Tokens that the
// bridge itself has stored since are nothing new to it.
func (u *upstream) same(before, after secret.View) bool {
	if before.Equal(after) {
		return true
	}
	if u.login == nil || u.server.OAuth.Token == "" {
		return false
	}
	for _, name := range u.server.Secrets {
		was, had := before.Lookup(name)
		is, has := after.Lookup(name)
		if before.Unreadable(name) != after.Unreadable(name) || had != has {
			return false
		}
		if was != is && (name != u.server.OAuth.Token || !u.login.own(is)) {
			return false
		}
	}
	return true
}

// withdraw takes u out of service and returns the notifications of what that
// changes. The caller holds u.mu. What the server listed keeps its names, so
// that none of them comes to mean another server's tool, but is not shown.
func (u *upstream) withdraw(reason string) (notes []string) {
	u.health = u.health.OutOfService(time.Now(), reason)
	before := u.lists
	u.lists = make(map[string][]item, len(before))
	for method, items := range before {
		for _, it := range items {
			it.hidden = true
			u.lists[method] = append(u.lists[method], it)
		}
	}
	return changes(before, u.lists)
}

// granted returns what u gets of the user's secrets now.
func (u *upstream) granted() *grant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.grant
}

// keep notes a connection that ends with its grant. It reports false where that
// is over already.
func (u *upstream) keep(l *link) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l.grant != u.grant {
		return false
	}
	if !closed(l.gone) { // else it is lost already, and nobody would do so again
		u.links[l] = true
	}
	return true
}

// lose forgets a connection that is gone.
func (u *upstream) lose(l *link) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.links, l)
}
