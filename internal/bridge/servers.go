// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// serverSet holds the configured servers.
type serverSet struct {
	bridge *Bridge

	timing   upstream.Timing
	network  *egress.Network
	logins   *credential.Logins
	closing  sync.WaitGroup // closing connections to servers
	granting sync.Mutex     // held while the secrets or the configuration are replaced

	settings mcpserver.Config // the current configuration
	// configuration is the digest of settings.
	configuration string
	upstreams     []*upstream.Server // replaced as a whole, never changed
	lifecycles    map[*upstream.Server]*lifecycle
	secrets       *secret.Set
	used          map[string]time.Time // when a server was last used, by name
	changed       chan struct{}        // closed at the next change of the servers
	settledAt     time.Time            // when a server has started last
	waits         int                  // number of requests that wait for servers that start
}

// servers returns the upstreams in the order of the configuration. The slice must not be changed.
func (v *serverSet) servers() []*upstream.Server {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	return v.upstreams
}

// transparent reports whether messages pass unchanged.
func (v *serverSet) transparent() bool { return v.only() != nil }

// only returns the one server of a transparent bridge, else nil.
func (v *serverSet) only() *upstream.Server {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	if len(v.upstreams) == 1 && v.settings.Single() && v.settings.Mode != mcpserver.Router {
		return v.upstreams[0]
	}
	return nil
}

// routerMode reports whether clients see one tool instead of the tools of all servers.
func (v *serverSet) routerMode() bool {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	return v.settings.Mode == mcpserver.Router
}

// lifecycle is the state of a configured server in use.
type lifecycle struct {
	end  context.CancelFunc // ends the upstream's run
	busy int                // number of requests in flight to it
	over bool               // whether it was removed from the configuration
	idle chan struct{}      // closed when it is removed and not busy
}

// settle closes idle if no more requests are in flight. The caller holds Bridge.mu.
func (l *lifecycle) settle() {
	if l.over && l.busy == 0 && !inflight.Closed(l.idle) {
		close(l.idle)
	}
}

// newServerOf returns the upstream of a server. runServer starts it.
func (v *serverSet) newServerOf(s mcpserver.Server) *upstream.Server {
	v.bridge.mu.Lock()
	secrets := v.secrets
	v.bridge.mu.Unlock()
	runs := v.bridge.options.runs
	if runs == nil {
		runs = credential.RunProgram
	}
	if fetch := v.bridge.options.FetchBundle; fetch != nil {
		runs = runs.AfterFetch(fetch)
	}
	watch := v.bridge.options.Suspects
	counted := func(p *mcpserver.Program, l stdio.Launch, log *slog.Logger) mcp.Transport {
		return watch.Program(s.Name, runs(p, l, log))
	}
	return upstream.New(v.bridge.ctx, s, upstream.Options{
		Timing: v.timing, Network: watch.Network(s.Name, v.network.Towards(s)), Log: v.bridge.options.Log,
		Login: v.logins.For(s.OAuth), Secrets: secrets, Owner: &sharedHandler{bridge: v.bridge}, HopID: v.bridge.hopID(), Runs: counted,
		Memory:  v.bridge.memory,
		Closing: &v.closing, Changed: func(_ *upstream.Server, note string) { v.bridge.directory.listsChanged(note) }, Resumed: v.bridge.clients.resume,
		Settled: v.settled, Observed: v.bridge.directory.status.check,
	})
}

// runServer connects u in the background until its life or ctx ends.
func (v *serverSet) runServer(ctx context.Context, u *upstream.Server) {
	ctx, end := context.WithCancel(ctx)
	v.bridge.mu.Lock()
	v.lifecycles[u] = &lifecycle{end: end, idle: make(chan struct{})}
	v.bridge.mu.Unlock()
	v.bridge.done.Go(func() {
		defer end()
		u.Connector.Run(ctx)
	})
}

// enter counts a request as in flight to u until leave is called. It returns false if u is no
// longer configured.
func (v *serverSet) enter(u *upstream.Server, method string) bool {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	l := v.lifecycles[u]
	if l == nil || l.over {
		return false
	}
	l.busy++
	if methods.Of(method).Names != methods.Nothing {
		v.used[u.Config.Name] = time.Now()
	}
	return true
}

// leave ends the count that enter started.
func (v *serverSet) leave(u *upstream.Server) {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	if l := v.lifecycles[u]; l != nil {
		l.busy--
		l.settle()
	}
}

// Reconfigure replaces the configuration, which must not be changed afterwards. Unchanged servers
// keep their connections. A changed server ends once no more requests are in flight to it, or
// after the grace period for calls with previous secrets; new requests go to its successor at
// once. Sessions continue: subscriptions of their clients are repeated at a changed server, and
// end at a removed server.
//
// A configuration that is invalid or belongs to another bridge is refused and changes nothing.
func (b *Bridge) Reconfigure(c mcpserver.Config) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	if c.UserID != b.config.UserID || c.BridgeUID != b.config.BridgeUID {
		return errors.New("reconfigure: the configuration is another bridge's")
	}
	b.set.granting.Lock()
	defer b.set.granting.Unlock()
	if b.ctx.Err() != nil {
		return errors.New("reconfigure: the bridge is closed")
	}
	b.mu.Lock()
	before := b.set.settings
	b.mu.Unlock()
	if upstream.SameConfig(before, c) {
		return nil
	}
	if !upstream.SameConfig(before.Egress, c.Egress) {
		b.set.network.UseRules(c.Egress)
	}
	replaced := b.set.install(c)
	for old, successor := range replaced {
		b.set.replace(old, successor)
	}
	b.directory.status.check()
	b.options.Log.Info("the configuration changed", "servers", len(c.Servers), "replaced", len(replaced))
	for _, note := range methods.Changes {
		b.directory.announce(note)
		if b.set.transparent() {
			b.clients.inform(note, b.clients.listening())
		}
	}
	return nil
}

// install activates c. It returns the upstreams that are no longer used, each with its successor,
// or nil for a removed server.
func (v *serverSet) install(c mcpserver.Config) (replaced map[*upstream.Server]*upstream.Server) {
	former := map[string]*upstream.Server{}
	replaced = map[*upstream.Server]*upstream.Server{}
	for _, u := range v.servers() {
		former[u.Config.Name] = u
		replaced[u] = nil
	}
	var upstreams, created []*upstream.Server
	for _, s := range c.Servers {
		u := former[s.Name]
		if u != nil && upstream.SameConfig(u.Config, s) {
			delete(replaced, u)
		} else {
			successor := v.newServerOf(s)
			created = append(created, successor)
			if u != nil {
				replaced[u] = successor
				successor.Inherit(u)
			}
			u = successor
		}
		upstreams = append(upstreams, u)
	}
	// Before requests of clients can reach them.
	for _, u := range created {
		v.runServer(v.bridge.ctx, u)
	}
	v.swap(c, upstreams, replaced)
	return replaced
}

// swap replaces all upstreams of the bridge at once.
func (v *serverSet) swap(c mcpserver.Config, upstreams []*upstream.Server, replaced map[*upstream.Server]*upstream.Server) {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	v.settings, v.upstreams, v.configuration = c, upstreams, digestOf(c)
	removed := map[string]bool{}
	for old, successor := range replaced {
		l := v.lifecycles[old]
		l.over = true
		l.settle()
		if successor == nil {
			removed[old.Config.Name] = true
		}
	}
	gone := func(server string) bool { return removed[server] }
	maps.DeleteFunc(v.used, func(server string, _ time.Time) bool { return gone(server) })
	v.bridge.router.ForgetServers(gone)
	if len(removed) > 0 {
		for _, r := range v.bridge.directory.registries {
			r.Release(gone)
		}
	}
	v.bridge.directory.rebuild()
	v.announceChange()
}

// replace transfers the subscriptions of sessions from old to its successor, and ends old in the
// background.
func (v *serverSet) replace(old, successor *upstream.Server) {
	for _, s := range v.bridge.clients.allSessions() {
		s.transfer(old, successor)
	}
	v.bridge.done.Go(func() { v.drain(old) })
}

// drain ends a removed server when no requests are in flight to it, or after the grace period.
func (v *serverSet) drain(u *upstream.Server) {
	v.bridge.mu.Lock()
	l := v.lifecycles[u]
	v.bridge.mu.Unlock()
	grace := time.NewTimer(v.timing.Grace)
	defer grace.Stop()
	rest := v.timing.Grace // for calls that wait for their client
	select {
	case <-l.idle:
	case <-grace.C:
		rest = 0
	case <-v.bridge.ctx.Done():
	}
	u.Dismiss(v.bridge.ctx, rest)
	l.end()
	u.Granted().Cut(fault.ErrStale) // No request uses it any more.
	// Subscriptions that reached u until the end are transferred as well.
	for _, s := range v.bridge.clients.allSessions() {
		s.transfer(u, v.successor(u))
	}
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	delete(v.lifecycles, u)
}

// successor returns the server that now replaces u, or nil.
func (v *serverSet) successor(u *upstream.Server) *upstream.Server {
	for _, other := range v.servers() {
		if other != u && other.Config.Name == u.Config.Name {
			return other
		}
	}
	return nil
}
