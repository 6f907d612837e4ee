// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one request on its way through what is configured for its server.
// Every request to a server is one, whatever the mode, so that what is
// configured always holds.
type call struct {
	bridge   *Bridge
	query    *query
	upstream *upstream
	hints    hints
	// asked says that the server asked the client for something.
	asked atomic.Bool
	// cached and retries are for the audit log.
	cached  bool
	retries int
}

// callKey is the context key of the call that a message to a client belongs to.
type callKey struct{}

// forward sends the request to u and returns the answer as it is to reach the
// client.
func (b *Bridge) forward(ctx context.Context, q *query, u *upstream) (mcp.Result, error) {
	c := &call{bridge: b, query: q, upstream: u}
	if s := u.server; s.CacheTTL > 0 || s.Retry.MaxAttempts > 1 {
		c.hints = hintsOf(u, toolOf(q))
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	ctx, end := c.begin(ctx)
	q.heed(ctx, u)
	result, err := c.answer(ctx)
	end(result, err)
	if err != nil {
		return c.failed(err)
	}
	return result, nil
}

// answer returns the kept answer, or that of the server.
func (c *call) answer(ctx context.Context) (mcp.Result, error) {
	key := c.key()
	if kept, ok := c.bridge.policies.kept(key, time.Now()); ok && c.upstream.drift() == nil {
		c.cached = true
		return kept, nil
	}
	result, err := c.attempt(ctx)
	if err != nil {
		return nil, err
	}
	if raw, ok := result.(*rawResult); ok {
		c.shape(raw)
		c.keep(key, raw)
	}
	return result, nil
}

// attempt has the request delivered, repeated where that is configured and does
// no harm.
func (c *call) attempt(ctx context.Context) (mcp.Result, error) {
	result, again, err := c.once(ctx)
	for n := 1; err != nil && c.repeats(ctx, n, again, err); n++ {
		if !c.pause(ctx, n, again) {
			break
		}
		before := err
		result, again, err = c.once(ctx)
		if _, open := errors.AsType[*openError](err); open {
			return nil, before // It says more than that there is a pause now.
		}
		c.retries++
	}
	return result, err
}

// repeats reports whether the request is sent again after its n-th attempt
// failed with err. again says that it was not delivered. A server that has
// asked the client for something has begun with it, whatever its tool declares,
// and what the server answered is an answer.
func (c *call) repeats(ctx context.Context, n int, again bool, err error) bool {
	most := c.upstream.server.Retry.MaxAttempts
	if ctx.Err() != nil || c.asked.Load() {
		return false
	}
	if most == 0 {
		return again && n == 1
	}
	return n < most && (again || c.repeatable() && reachedBy(ctx, err) == missed)
}

// repeatable reports whether the request can be delivered twice without harm:
// it reads, or its tool says so. That a tool says so counts whatever the trust
// in the server is: that is about what its results say, and a server that lies
// about its own tool has only its own tool called twice.
func (c *call) repeatable() bool {
	if c.query.continues() {
		return false
	}
	switch c.query.method {
	case methodCallTool:
		return c.hints.readOnly || c.hints.idempotent
	case methodListTools, methodListPrompts, methodListResources, methodListTemplates,
		methodGetPrompt, methodReadResource, methodComplete:
		return true
	}
	return false
}

// defaultDelay is the pause before the second attempt where none is configured.
const defaultDelay = time.Second

// pause waits before the attempt that follows the n-th. It reports false where
// the client or the bridge does not wait any more. A connection that was found
// dead is no reason to wait.
func (c *call) pause(ctx context.Context, n int, again bool) bool {
	if again && n == 1 {
		return true
	}
	delay := time.Duration(c.upstream.server.Retry.Delay)
	if delay == 0 {
		delay = defaultDelay
	}
	delay <<= n - 1
	// Jitter, so that clients which failed together do not come back together.
	timer := time.NewTimer(delay/2 + rand.N(delay/2+1)) //nolint:gosec // Spreading load needs no secret randomness.
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-c.bridge.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// errLate says that a call took longer than is configured.
var errLate = errors.New("the server did not answer in the time that is configured for it")

// once delivers the request once, unless the server is given a rest.
func (c *call) once(ctx context.Context) (result mcp.Result, again bool, err error) {
	trial, err := c.bridge.policies.admit(c.bridge, c.upstream)
	if err != nil {
		return nil, false, err
	}
	result, again, err = c.deliver(ctx)
	c.bridge.policies.settle(c.bridge, c.upstream, trial, reachedBy(ctx, err))
	return result, again, err
}

// deliver delivers the request within its time. The time to wait for a server
// that is not connected is not part of it.
func (c *call) deliver(ctx context.Context) (result mcp.Result, again bool, err error) {
	limit := time.Duration(c.upstream.server.Timeouts.Call)
	if limit == 0 {
		return c.bridge.deliver(ctx, c.query, c.upstream)
	}
	if _, err := c.upstream.shared(ctx); err != nil {
		return nil, false, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	result, again, err = c.bridge.deliver(bounded, c.query, c.upstream)
	if err != nil && ctx.Err() == nil && !answered(err) && errors.Is(context.Cause(bounded), errLate) {
		return nil, false, errLate
	}
	return result, again, err
}

// toolOf returns the name of the tool that is called, empty for other requests.
func toolOf(q *query) string {
	if p, ok := q.params.(*mcp.CallToolParamsRaw); ok {
		return p.Name
	}
	return ""
}

// continues reports whether the request brings what the server asked for before.
func (q *query) continues() bool {
	state, responses := q.input()
	return state != "" || len(responses) > 0
}
