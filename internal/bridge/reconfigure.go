// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Reconfigure replaces the configuration, which must not be changed afterwards. Unchanged servers
// keep their connections. A changed server ends once no more requests are in flight to it, or
// after the grace period for calls with previous secrets; new requests go to its successor at
// once. Sessions continue: subscriptions of their clients are repeated at a changed server, and
// end at a removed server.
//
// A configuration that is invalid or belongs to another bridge is refused and changes nothing.
func (b *Bridge) Reconfigure(c bridgeconfig.Config) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	if c.UserID != b.config.UserID || c.BridgeUID != b.config.BridgeUID {
		return errors.New("reconfigure: the configuration is another bridge's")
	}
	b.set.granting.Lock()
	defer b.set.granting.Unlock()
	if b.life.ctx.Err() != nil {
		return errors.New("reconfigure: the bridge is closed")
	}
	before := b.set.config()
	if upstream.SameConfig(before, c) {
		return nil
	}
	if !upstream.SameConfig(before.Egress, c.Egress) {
		b.set.network.UseRules(c.Egress)
	}
	next := b.set.prepare(c, b.newServerOf)
	gone := b.directory.follow(func() map[string]bool { return b.set.swap(c, next) })
	b.router.ForgetServers(gone)
	for old, successor := range next.replaced {
		b.clients.transfer(old, successor)
		b.life.run(func() { b.set.drain(old, b.clients.transfer) })
	}
	b.status.check()
	b.options.Log.Info("the configuration changed", "servers", len(c.Servers), "replaced", len(next.replaced))
	for _, note := range methods.Changes {
		b.clients.changed(note)
	}
	return nil
}

// succession is the servers of a new configuration.
type succession struct {
	upstreams []*upstream.Server
	// replaced are the servers that are no longer used, each with its successor, or nil for a removed
	// server.
	replaced map[*upstream.Server]*upstream.Server
}

// prepare starts the servers that c has and the current configuration has not. create makes one.
func (v *serverSet) prepare(c bridgeconfig.Config, create func(bridgeconfig.Server) *upstream.Server) succession {
	former, next := map[string]*upstream.Server{}, succession{replaced: map[*upstream.Server]*upstream.Server{}}
	for _, u := range v.servers() {
		former[u.Config.Name] = u
		next.replaced[u] = nil
	}
	var created []*upstream.Server
	for _, s := range c.Servers {
		u := former[s.Name]
		if u != nil && upstream.SameConfig(u.Config, s) {
			delete(next.replaced, u)
		} else {
			successor := create(s)
			created = append(created, successor)
			if u != nil {
				next.replaced[u] = successor
				successor.Inherit(u)
			}
			u = successor
		}
		next.upstreams = append(next.upstreams, u)
	}
	// Before requests of clients can reach them.
	for _, u := range created {
		v.runServer(v.life.ctx, u)
	}
	return next
}

// swap replaces all upstreams at once. It returns the names of those that have no successor.
func (v *serverSet) swap(c bridgeconfig.Config, next succession) map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.settings, v.upstreams, v.configuration = c, next.upstreams, digestOf(c)
	removed := map[string]bool{}
	for old, successor := range next.replaced {
		l := v.lifecycles[old]
		l.over = true
		l.settle()
		if successor == nil {
			removed[old.Config.Name] = true
			delete(v.used, old.Config.Name)
		}
	}
	v.starts.announce(false)
	return removed
}

// drain ends a removed server when no requests are in flight to it, or after the grace period. transfer
// moves the subscriptions of sessions to its successor.
func (v *serverSet) drain(u *upstream.Server, transfer func(before, after *upstream.Server)) {
	v.mu.Lock()
	l := v.lifecycles[u]
	v.mu.Unlock()
	grace := time.NewTimer(v.timing.Grace)
	defer grace.Stop()
	rest := v.timing.Grace // for calls that wait for their client
	select {
	case <-l.idle:
	case <-grace.C:
		rest = 0
	case <-v.life.ctx.Done():
	}
	u.Dismiss(v.life.ctx, rest)
	l.end()
	u.Granted().Cut(fault.ErrStale) // No request uses it any more.
	transfer(u, v.successor(u))     // Subscriptions that reached u until the end.
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.lifecycles, u)
}
