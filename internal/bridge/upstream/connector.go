// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// sharedView is the state of the shared connection for a caller that needs it.
type sharedView struct {
	link    *Conn // nil unless it is alive
	failure error // why there is no connection to wait for
	away    error // the error when the wait is over
	settled chan struct{}
}

// Connector keeps the shared connection to a server.
type Connector struct {
	server *Server

	kick    chan struct{} // capacity 1: try to connect now
	refresh chan struct{} // capacity 1: a list changed

	link    *Conn
	settled chan struct{} // closed when link or failed changes
	failed  int           // number of failed attempts, and of connections that ended in use
	// pinned is the protocol version that the server needs, if known.
	pinned string
}

// IdleDeadline returns a channel that fires when to check again whether the connection l is in
// use, or nil if it is time to close it. If the configuration keeps connections open, the channel
// never fires.
func (c *Connector) IdleDeadline(l *Conn) <-chan time.Time {
	limit := time.Duration(c.server.Config.Timeouts.Idle)
	if limit <= 0 {
		return make(chan time.Time)
	}
	quiet := l.Calls.Quiet(time.Now())
	if quiet >= limit && !c.server.Subscriptions.Watched() {
		return nil
	}
	return time.After(max(limit-quiet, limit/4))
}

// waitForUse waits until a request needs the server, or its secrets change. The lists and the
// health of the server stay.
func (c *Connector) waitForUse(ctx context.Context, g *credential.Grant) {
	select {
	case <-ctx.Done():
	case <-g.Life.Done():
	case <-c.kick:
	}
}

// Run keeps the shared connection until ctx ends.
func (c *Connector) Run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		g := c.server.Granted()
		if !g.Usable() || c.server.Config.Pending != nil {
			c.waitForSecrets(ctx, g)
			failures = 0
			continue
		}
		err := c.keepConnected(ctx, g)
		if ctx.Err() != nil || g.Over() {
			failures = 0
			continue
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		c.pause(ctx, g, failures, err)
	}
}

// keepConnected connects and keeps the connection until it is unusable. It returns the reason for
// a pause before the next attempt, or nil.
func (c *Connector) keepConnected(ctx context.Context, g *credential.Grant) error {
	l, err := c.connect(ctx, g)
	if err != nil {
		return err
	}
	began := time.Now()
	asleep := c.serve(ctx, l)
	if asleep {
		c.waitForUse(ctx, g)
		return nil
	}
	// A program that exits right after its start would otherwise be started in a loop.
	if c.server.SharedBySessions() && inflight.Closed(l.Life.gone) && time.Since(began) < c.server.Timing.BackoffMax {
		err := l.Life.end()
		if ctx.Err() == nil {
			c.server.Availability.observe(g, began, 0, err)
		}
		return err
	}
	return nil
}

// waitForSecrets waits for newer secrets than those of g.
func (c *Connector) waitForSecrets(ctx context.Context, g *credential.Grant) {
	if g.Fault != "" {
		c.publish(nil, true) // so that no request waits for this server
	}
	select {
	case <-ctx.Done():
	case <-g.Life.Done():
	}
}

// connect opens the shared connection and reads the lists.
func (c *Connector) connect(ctx context.Context, g *credential.Grant) (*Conn, error) {
	ctx, end := egress.FollowContext(ctx, g.Life)
	defer end()
	began := time.Now()
	l, err := c.dialShared(ctx, g)
	if err != nil {
		if ctx.Err() == nil {
			c.server.Availability.observe(g, began, 0, err) // Before requests that wait look again.
		}
		c.publish(nil, true)
		return nil, err
	}
	c.server.Availability.observe(g, began, c.server.Lists.count(methods.ListTools), nil)
	uris := c.publish(l, false)
	ctx, cancel := context.WithTimeout(ctx, c.server.Timing.Connect)
	defer cancel()
	c.server.Resubscribe(ctx, l, uris...)
	c.server.Resumed(c.server)
	return l, nil
}

// dialShared connects. A program that fails at the first request of the modern protocol is started
// again with the legacy protocol.
func (c *Connector) dialShared(ctx context.Context, g *credential.Grant) (*Conn, error) {
	l, err := c.attempt(ctx, g)
	if err == nil || !c.server.SharedBySessions() || c.Version() != "" || ctx.Err() != nil {
		return l, err
	}
	if errors.Is(err, stdio.ErrNoShim) || fault.MissesPackage(err) {
		return nil, err // It got no request at all.
	}
	c.pin(message.NewestLegacyVersion)
	l, second := c.attempt(ctx, g)
	if second != nil {
		c.pin("") // The failure had another cause.
		return nil, err
	}
	return l, nil
}

// attempt connects once and reads the lists.
func (c *Connector) attempt(ctx context.Context, g *credential.Grant) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.Timing.Connect)
	defer cancel()
	who := ClientIdentity{Info: message.Implementation, Watch: true}
	if c.server.SharedBySessions() {
		who.Capabilities = message.AllClientCapabilities()
	}
	l, err := Dial(ctx, c.server, g, who, c.server.Owner)
	if err != nil {
		return nil, err
	}
	if err := c.server.Lists.list(ctx, l); err != nil {
		l.Life.Close()
		return nil, err
	}
	return l, nil
}

// Version returns the protocol version to start with, empty for the newest.
func (c *Connector) Version() string {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	legacyOnly := ""
	if c.server.Config.Kind() == bridgeconfig.SSE {
		legacyOnly = message.NewestLegacyVersion // The modern protocol does not have this transport.
	}
	return cmp.Or(c.server.Config.ProtocolVersion, c.pinned, legacyOnly)
}

func (c *Connector) pin(version string) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.pinned = version
}

// serve probes the connection until it is closed or unusable. It reports whether it ended only
// because it was idle.
func (c *Connector) serve(ctx context.Context, l *Conn) (asleep bool) {
	defer func() {
		if l.Life.Dead() && l.grant == c.server.Granted() {
			c.server.Log.Info("the connection to the server ended")
		}
		c.publish(nil, !asleep)
		l.Life.Retire()
	}()
	ticker := time.NewTicker(c.server.Timing.Interval)
	defer ticker.Stop()
	for failed := 0; failed < health.FailureThreshold; {
		due, asleep := c.awaitProbe(ctx, l, ticker.C)
		if !due {
			return asleep
		}
		if err := c.probe(ctx, l); err != nil {
			failed++
		} else {
			failed = 0
		}
	}
	return false
}

// awaitProbe waits until the next probe. It returns false if the connection is unusable; asleep
// says that it was idle.
func (c *Connector) awaitProbe(ctx context.Context, l *Conn, tick <-chan time.Time) (due, asleep bool) {
	for {
		tired := c.IdleDeadline(l)
		if tired == nil {
			return false, true
		}
		select {
		case <-ctx.Done():
			return false, false
		case <-l.Life.gone:
			return false, false
		case <-l.Life.retired:
			return false, false
		case <-tired:
		case <-c.refresh:
			return true, false
		case <-tick:
			return true, false
		}
	}
}

// probe reads the lists again, which also shows whether the server works.
func (c *Connector) probe(ctx context.Context, l *Conn) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.Timing.Timeout)
	defer cancel()
	began := time.Now()
	err := c.server.Lists.list(ctx, l)
	if err == nil && l.Capabilities().Tools == nil && l.Era == message.Legacy {
		_, err = l.Call(ctx, methods.Ping, nil, nil)
	}
	if ctx.Err() != nil && err == nil {
		err = ctx.Err()
	}
	c.server.Availability.observe(l.grant, began, c.server.Lists.count(methods.ListTools), err)
	return err
}

// pause waits before the next attempt after one that failed with err, or until a request needs the
// server or its secrets change.
func (c *Connector) pause(ctx context.Context, g *credential.Grant, failures int, err error) {
	d := c.server.Timing.BackoffMin << min(failures-1, 16)
	if d <= 0 || d > c.server.Timing.BackoffMax {
		d = c.server.Timing.BackoffMax
	}
	// A server that refuses connections must not be tried in a loop when requests need it, and one
	// that says when it is ready again not before.
	least := c.server.Timing.BackoffMin / 4
	if refused, ok := errors.AsType[*fault.Refused](err); ok {
		least = max(least, min(refused.RetryAfter, c.server.Timing.BackoffMax))
	}
	soonest := time.NewTimer(least)
	defer soonest.Stop()
	// Jitter, so that many bridges do not reconnect to a recovered server at once.
	timer := time.NewTimer(max(least, d/2+rand.N(d/2+1))) //nolint:gosec // Spreading load needs no secret randomness.
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-g.Life.Done():
	case <-timer.C:
	case <-c.kick:
		select {
		case <-ctx.Done():
		case <-g.Life.Done():
		case <-soonest.C:
		}
	}
}

// publish publishes the shared connection, or nil and whether it failed: a request that waits for
// the server counts failures, and closing an idle connection does not count as one. It
// returns the resources to which l must be subscribed. Later subscribers subscribe themselves.
func (c *Connector) publish(l *Conn, failed bool) (uris []string) {
	defer c.server.Settled() // Without the lock.
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.link = l
	if l != nil {
		c.clearWake()
	}
	if failed {
		c.failed++
	}
	close(c.settled)
	c.settled = make(chan struct{})
	return slices.Sorted(maps.Keys(c.server.Subscriptions.watching))
}

// wake starts an attempt to connect now. The caller holds u.mu and has seen that the server is not
// connected.
func (c *Connector) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// clearWake undoes wake: otherwise the connection would be opened again after it ended idle. The
// caller holds u.mu and has seen a connection.
func (c *Connector) clearWake() {
	select {
	case <-c.kick:
	default:
	}
}

// look returns the current state, and starts an attempt to connect if it is worth waiting for.
// first is the number of failures at the first look, negative before.
func (c *Connector) look(first *int) sharedView {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if *first < 0 {
		*first = c.failed
	}
	now := sharedView{away: c.server.Availability.unavailable(), settled: c.settled}
	if starting := c.server.Availability.starting(time.Now()); starting != nil {
		now.away = starting
	}
	switch {
	case c.server.grant.Fault != "":
		now.failure = now.away
	case c.link.Alive():
		now.link = c.link
		now.link.Calls.touch()
	case c.link == nil && c.failed >= *first+2:
		// The first attempt that fails may have started before the server did, so the second
		// attempt decides.
		now.failure = now.away
	default:
		c.wake()
	}
	return now
}
