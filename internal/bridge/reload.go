// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// exit is where connections leave the bridge. The rules for where they may lead
// can be replaced, for the connections that are made from then on.
type exit struct {
	current atomic.Pointer[outlets]
}

func newExit(rules config.Egress) *exit {
	e := &exit{}
	e.current.Store(newOutlets(rules))
	return e
}

// RoundTrip implements http.RoundTripper.
func (e *exit) RoundTrip(r *http.Request) (*http.Response, error) {
	return e.current.Load().any.RoundTrip(r)
}

// use replaces the rules. What is under way ends under the former ones, and its
// connections are not used again.
func (e *exit) use(rules config.Egress) {
	e.current.Swap(newOutlets(rules)).close()
}

func (e *exit) close() { e.current.Load().close() }

// life is that of a server in the configuration.
type life struct {
	end  context.CancelFunc // of its upstream's run
	busy int                // requests on their way to it
	over bool               // whether it is in the configuration no more
	idle chan struct{}      // closed when it is over and not busy
}

// settle tells that nothing more is on its way. The caller holds Bridge.mu.
func (l *life) settle() {
	if l.over && l.busy == 0 && !closed(l.idle) {
		close(l.idle)
	}
}

// newServerOf returns the upstream of a server, which runServer starts.
func (b *Bridge) newServerOf(s config.Server) *upstream {
	b.mu.Lock()
	secrets := b.secrets
	b.mu.Unlock()
	u := newUpstream(s, b.network.towards(s), b.timing, b.log)
	u.logsIn(b.logins.of(s.OAuth))
	u.grant = newGrant(b.ctx, s, secrets, u.transport)
	if u.grant.fault != "" {
		u.health = u.health.OutOfService(time.Now(), u.grant.fault)
	}
	u.over = b.ctx.Done()
	u.closing = &b.closing
	u.owner = &standIn{bridge: b, upstream: u}
	u.changed = b.listsChanged
	u.resumed = func() { b.resume(u) }
	return u
}

// runServer has u connect in the background until its life or ctx ends.
func (b *Bridge) runServer(ctx context.Context, u *upstream) {
	ctx, end := context.WithCancel(ctx)
	b.mu.Lock()
	b.lives[u] = &life{end: end, idle: make(chan struct{})}
	b.mu.Unlock()
	b.done.Go(func() {
		defer end()
		u.run(ctx)
	})
}

// enter counts a request as on its way to u until leave is called. It reports
// false where u is no longer in the configuration.
func (b *Bridge) enter(u *upstream, method string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lives[u]
	if l == nil || l.over {
		return false
	}
	l.busy++
	switch method {
	case methodCallTool, methodGetPrompt, methodReadResource, methodComplete, methodSubscribe:
		b.used[u.server.Name] = time.Now()
	}
	return true
}

// leave ends what enter began.
func (b *Bridge) leave(u *upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lives[u]; l != nil {
		l.busy--
		l.settle()
	}
}

// Reconfigure replaces the configuration, which must not be changed afterwards.
// A server that is configured as before keeps its connections. Another one ends
// once nothing is on its way to it any more, or after the time that a call may
// go on with secrets that have changed; new requests go to its successor at
// once. Sessions go on: what their clients subscribed to is subscribed again at
// a server that was changed, and closed at one that was removed.
//
// A configuration that is not valid or that is another bridge's is refused and
// changes nothing.
func (b *Bridge) Reconfigure(c config.Config) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	if c.UserID != b.config.UserID || c.BridgeUID != b.config.BridgeUID {
		return errors.New("reconfigure: the configuration is another bridge's")
	}
	b.granting.Lock()
	defer b.granting.Unlock()
	if b.ctx.Err() != nil {
		return errors.New("reconfigure: the bridge is closed")
	}
	b.mu.Lock()
	before := b.settings
	b.mu.Unlock()
	if equal(before, c) {
		return nil
	}
	if !equal(before.Egress, c.Egress) {
		b.network.use(c.Egress)
	}
	replaced := b.install(c)
	for old, successor := range replaced {
		b.succeed(old, successor)
	}
	b.log.Info("the configuration changed", "servers", len(c.Servers), "replaced", len(replaced))
	b.headTools()
	for _, note := range []string{noteToolsChanged, notePromptsChanged, noteResourcesChanged} {
		b.announce(note)
		if b.transparent() {
			b.inform(note, b.listening())
		}
	}
	return nil
}

// equal reports whether two parts of a configuration say the same: no list and
// an empty one do.
func equal(x, y any) bool {
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// install makes c the configuration and returns the upstreams that are none any
// more, each with the one that has taken its place, nil for none.
func (b *Bridge) install(c config.Config) (replaced map[*upstream]*upstream) {
	former := map[string]*upstream{}
	replaced = map[*upstream]*upstream{}
	for _, u := range b.servers() {
		former[u.server.Name] = u
		replaced[u] = nil
	}
	var upstreams, created []*upstream
	for _, s := range c.Servers {
		u := former[s.Name]
		if u != nil && equal(u.server, s) {
			delete(replaced, u)
		} else {
			successor := b.newServerOf(s)
			created = append(created, successor)
			if u != nil {
				replaced[u] = successor
				successor.inherit(u)
			}
			u = successor
		}
		upstreams = append(upstreams, u)
	}
	// Before clients can come to them.
	for _, u := range created {
		b.runServer(b.ctx, u)
	}
	b.swap(c, upstreams, replaced)
	return replaced
}

// swap makes the new upstreams those of the bridge, all at once.
func (b *Bridge) swap(c config.Config, upstreams []*upstream, replaced map[*upstream]*upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settings, b.upstreams = c, upstreams
	removed := map[string]bool{}
	for old, successor := range replaced {
		l := b.lives[old]
		l.over = true
		l.settle()
		if successor == nil {
			removed[old.server.Name] = true
		}
	}
	gone := func(server string) bool { return removed[server] }
	maps.DeleteFunc(b.used, func(server string, _ time.Time) bool { return gone(server) })
	b.recent = slices.DeleteFunc(b.recent, gone)
	if len(removed) > 0 {
		for _, r := range b.registers {
			r.release(gone)
		}
	}
	b.rebuild()
}

// inherit takes over what clients without a session have subscribed to, and the
// lists until the server has shown its own: a change of a timeout should not
// take the tools away for as long as it takes to connect. Nobody else knows u
// yet.
func (u *upstream) inherit(old *upstream) {
	old.mu.Lock()
	defer old.mu.Unlock()
	u.watching = old.wantedByOthers()
	if !old.grant.waiting && old.grant.fault == "" && u.grant.usable() && equal(place(old.server), place(u.server)) {
		u.lists, u.introduction = maps.Clone(old.lists), old.introduction
		if u.judge(u.lists[methodListTools]) != "" {
			u.lists, u.introduction = map[string][]item{}, ""
		}
	}
}

// place is what of a server's configuration says which server it is.
func place(s config.Server) config.Server {
	return config.Server{Name: s.Name, Transport: s.Kind(), URL: s.URL, Program: s.Program}
}

// succeed hands over what sessions have at old, and ends old in the background.
func (b *Bridge) succeed(old, successor *upstream) {
	for _, s := range b.allSessions() {
		s.hand(old, successor)
	}
	b.done.Go(func() { b.outlive(old) })
}

// outlive ends a server that is in the configuration no more, when nothing is on
// its way to it or the time for that is over.
func (b *Bridge) outlive(u *upstream) {
	b.mu.Lock()
	l := b.lives[u]
	b.mu.Unlock()
	grace := time.NewTimer(b.timing.grace)
	defer grace.Stop()
	rest := b.timing.grace // for calls that wait for their client
	select {
	case <-l.idle:
	case <-grace.C:
		rest = 0
	case <-b.ctx.Done():
	}
	u.dismiss(b.ctx, rest)
	l.end()
	u.granted().cut(errStale) // Nothing uses it.
	// What came to u until the end goes on as well.
	for _, s := range b.allSessions() {
		s.hand(u, b.successor(u))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.lives, u)
}

// dismiss ends the use of u for good. Its connections are closed when nothing is
// in flight on them, at the latest after grace.
func (u *upstream) dismiss(ctx context.Context, grace time.Duration) {
	last := &grant{fault: "it is in the configuration no more"}
	last.rest, last.cut = context.WithCancelCause(ctx)
	last.life, last.end = context.WithCancel(last.rest)
	u.mu.Lock()
	before, links := u.grant, u.links
	u.grant, u.links = last, map[*link]bool{}
	for l := range links {
		l.retire()
	}
	u.mu.Unlock()
	u.settle(nil) // so that nobody waits for this server
	before.expire(grace)
}

// hand has the client's use of before go on at after, or ends it where after is
// nil. Calls in flight end where they began.
func (s *session) hand(before, after *upstream) {
	s.mu.Lock()
	up := s.uplinks[before]
	delete(s.uplinks, before)
	if up == nil {
		s.mu.Unlock()
		return
	}
	l := up.link
	goesOn := after != nil && !s.ended
	if goesOn && s.uplinks[after] == nil {
		s.uplinks[after] = up
	}
	s.mu.Unlock()
	if l != nil {
		l.leave(s)
	}
	if goesOn {
		// On its own, since it waits for who connects.
		s.bridge.done.Go(func() { s.goOn(up, after) })
	}
}

// goOn has what the client subscribed to with up, at a server whose place u has
// taken, be subscribed at u.
func (s *session) goOn(up *uplink, u *upstream) {
	up.mu.Lock()
	uris := slices.Sorted(maps.Keys(up.subscribed))
	up.mu.Unlock()
	if len(uris) == 0 {
		return
	}
	now := s.uplink(u)
	now.mu.Lock()
	var late []string // which a connection that there is does not have
	for _, uri := range uris {
		if !now.subscribed[uri] {
			late = append(late, uri)
		}
		now.subscribed[uri] = true
	}
	now.mu.Unlock()
	if u.shares() {
		for _, uri := range uris {
			s.follow(u, uri)
		}
	}
	s.resume(u)
	if u.shares() || len(late) == 0 {
		return
	}
	if l, err := s.connect(s.bridge.ctx, u); err == nil {
		u.resubscribe(l.grant.rest, l, late...)
	}
}

// follow has the shared connection to u tell of a resource to which the client
// subscribed at another one.
func (s *session) follow(u *upstream, uri string) {
	s.mu.Lock()
	fresh := !s.ended && u.follow(s, uri, true) // Before end, which takes it back.
	s.mu.Unlock()
	if !fresh {
		return
	}
	ctx, cancel := context.WithTimeout(s.bridge.ctx, u.timing.timeout)
	defer cancel()
	u.expect(ctx, uri)
}

// successor returns the server that has the place of u now, nil for none.
func (b *Bridge) successor(u *upstream) *upstream {
	for _, other := range b.servers() {
		if other != u && other.server.Name == u.server.Name {
			return other
		}
	}
	return nil
}

func (b *Bridge) allSessions() []*session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.sessions))
}

// listening returns the sessions that hear of changes from a transparent
// bridge's server, and not from the bridge.
func (b *Bridge) listening() []*session {
	return slices.DeleteFunc(b.allSessions(), func(s *session) bool { return !s.who.watch })
}
