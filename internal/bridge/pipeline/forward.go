// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inputrequired"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/outputs"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Pipeline applies the policies of a server to every request, in every mode: the cache, the
// circuit breaker, the deadline, the retries and the result policy.
type Pipeline struct {
	life  context.Context // of the bridge
	audit *callaudit.Trail
	// deliver sends a request to a server once. again says that the request failed before it was
	// delivered.
	deliver  func(ctx context.Context, q *message.Request, u *upstream.Server) (result mcp.Result, again bool, err error)
	Policies policies
	// Relisted is called when a server's list of tools changes for clients because of a result.
	Relisted func()
}

// New returns a pipeline. servers returns the currently configured servers.
func New(life context.Context, a *callaudit.Trail, servers func() []*upstream.Server, deliver func(context.Context, *message.Request, *upstream.Server) (mcp.Result, bool, error)) *Pipeline {
	return &Pipeline{life: life, audit: a, deliver: deliver, Policies: policies{servers: servers}}
}

// call is one request in the pipeline. Every request to a server goes through it, in every mode,
// so that the policies always apply.
type call struct {
	pipeline *Pipeline
	query    *message.Request
	upstream *upstream.Server
	hints    hints
	// asked says that the server asked the client a question.
	asked atomic.Bool
	// cached and retries are for the audit log.
	cached  bool
	retries int
}

// callKey is the context key of the call that a message to a client belongs to.
type callKey struct{}

// QuestionObserver returns a function to call when the server asks the client a question during
// the call of ctx. It returns nil if ctx belongs to no call.
func QuestionObserver(ctx context.Context) func() {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil
	}
	return func() { c.asked.Store(true) }
}

// Forward sends the request to u and returns the answer for the client.
func (p *Pipeline) Forward(ctx context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error) {
	c := &call{pipeline: p, query: q, upstream: u}
	if s := u.Config; s.CacheTTL > 0 || s.Retry.MaxAttempts > 1 {
		c.hints = hintsOf(u, message.ToolOf(q))
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	ctx, end := c.begin(ctx)
	u.Availability.TakeLoginReply(ctx, q)
	result, err := c.answer(ctx)
	end(result, err)
	if err != nil {
		return c.failed(err)
	}
	if raw, ok := result.(*message.Result); ok && c.output(raw).Settle(time.Now()) {
		p.Relisted()
	}
	return result, nil
}

// output returns the result of a call of a tool, which clients compare with the output schema that
// they have.
func (c *call) output(r *message.Result) outputs.Call {
	p, ok := c.query.Params.(*mcp.CallToolParamsRaw)
	if !ok {
		return outputs.Call{}
	}
	var listed json.RawMessage
	if !c.query.Routed {
		entry, _ := c.upstream.Lists.Find(methods.ListTools, p.Name)
		listed = entry.Raw
	}
	return c.upstream.Outputs.Of(p.Name, listed, r, time.Now())
}

// answer returns the cached answer, or the server's answer.
func (c *call) answer(ctx context.Context) (mcp.Result, error) {
	key := c.key()
	if kept, ok := c.pipeline.Policies.lookup(key, time.Now()); ok && c.upstream.Availability.ToolsMismatch() == nil {
		c.cached = true
		return kept, nil
	}
	result, err := c.attempt(ctx)
	if err != nil {
		return nil, err
	}
	if raw, ok := result.(*message.Result); ok {
		c.output(raw).Mend()
		c.applyResultPolicy(raw)
		c.store(key, raw)
	}
	return result, nil
}

// attempt delivers the request, and retries it if this is configured and safe.
func (c *call) attempt(ctx context.Context) (mcp.Result, error) {
	result, again, err := c.once(ctx)
	for n := 1; err != nil && c.repeats(ctx, n, again, err); n++ {
		if !c.pause(ctx, n, again) {
			break
		}
		before := err
		result, again, err = c.once(ctx)
		if _, open := errors.AsType[*fault.CircuitOpen](err); open {
			return nil, before // It says more than the open breaker does.
		}
		c.retries++
	}
	return result, err
}

// repeats reports whether the request is retried after its n-th attempt failed with err. again
// says that it was not delivered. A server that has asked the client a question has started the
// work, whatever its tool declares, so there is no retry. Neither is there one after a server's
// answer.
func (c *call) repeats(ctx context.Context, n int, again bool, err error) bool {
	most := c.upstream.Config.Retry.MaxAttempts
	if ctx.Err() != nil || c.asked.Load() {
		return false
	}
	if most == 0 {
		return again && n == 1
	}
	return n < most && (again || c.repeatable() && fault.DeliveryOf(ctx, err) == fault.Missed)
}

// repeatable reports whether the request can be delivered twice without harm: it only reads, or
// its tool declares it. The declaration counts even for untrusted servers: trust is about the
// texts of results, and a server that lies about its tool only has its own tool called twice.
func (c *call) repeatable() bool {
	if c.query.Continues() {
		return false
	}
	switch methods.Of(c.query.Method).Repeats {
	case methods.Always:
		return true
	case methods.IfDeclared:
		return c.hints.readOnly || c.hints.idempotent
	}
	return false
}

// defaultDelay is the pause before the second attempt if none is configured.
const defaultDelay = time.Second

// pause waits before the attempt after the n-th. It returns false if the client or the bridge no
// longer waits. After a dead connection there is no pause.
func (c *call) pause(ctx context.Context, n int, again bool) bool {
	if again && n == 1 {
		return true
	}
	delay := time.Duration(c.upstream.Config.Retry.Delay)
	if delay == 0 {
		delay = defaultDelay
	}
	delay <<= n - 1
	// Jitter, so that clients that failed together do not retry together.
	timer := time.NewTimer(delay/2 + rand.N(delay/2+1)) //nolint:gosec // Spreading load needs no secret randomness.
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-c.pipeline.life.Done():
		return false
	case <-timer.C:
		return true
	}
}

// once delivers the request once, unless the breaker is open, or the request has waited in vain for
// the server to start.
func (c *call) once(ctx context.Context) (result mcp.Result, again bool, err error) {
	if starting := c.upstream.Starting(); starting != nil && c.query.Waited {
		return nil, false, starting
	}
	trial, err := c.pipeline.Policies.admit(c.upstream)
	if err != nil {
		return nil, false, err
	}
	result, again, err = c.deliver(ctx)
	c.pipeline.Policies.settle(c.upstream, trial, fault.DeliveryOf(ctx, err))
	return result, again, err
}

// deliver delivers the request within its deadline. The time to wait for a server that is not
// connected does not count.
func (c *call) deliver(ctx context.Context) (result mcp.Result, again bool, err error) {
	limit := time.Duration(c.upstream.Config.Timeouts.Call)
	if limit == 0 {
		return c.pipeline.deliver(ctx, c.query, c.upstream)
	}
	if _, err := c.upstream.Shared(ctx); err != nil {
		return nil, false, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, fault.ErrTimeout)
	defer cancel()
	result, again, err = c.pipeline.deliver(bounded, c.query, c.upstream)
	if err != nil && ctx.Err() == nil && !fault.IsAnswer(err) && errors.Is(context.Cause(bounded), fault.ErrTimeout) {
		return nil, false, fault.ErrTimeout
	}
	return result, again, err
}

// begin starts the trace of the call to its server, and returns the function that records the
// answer. Its error is the one before it is converted for the client.
func (c *call) begin(ctx context.Context) (context.Context, func(mcp.Result, error)) {
	began, tool := time.Now(), message.ToolOf(c.query)
	ctx, end := c.pipeline.audit.ClientSpan(ctx, c.query, c.upstream.Config.Name, tool)
	return ctx, func(result mcp.Result, err error) {
		status, kind := callaudit.StatusOf(ctx, result, c.meant(err))
		end(status, kind)
		o := callaudit.OperationOf(ctx)
		o.Forwarded(c.upstream.Config.Name, status)
		p, ok := c.query.Params.(*mcp.CallToolParamsRaw)
		if !ok || o == nil {
			return
		}
		o.Record(audit.Call{
			Server: c.upstream.Config.Name, Credential: c.upstream.Config.Credential(), Tool: tool, Status: status, ErrorType: kind,
			LatencyMS: time.Since(began).Milliseconds(), BytesOut: callaudit.SizeOf(result), Cached: c.cached, Retries: c.retries,
		}, p)
	}
}

// meant returns err in a form in which callaudit.StatusOf can distinguish a server's answer from a
// missing answer.
func (c *call) meant(err error) error {
	if err == nil || fault.IsAnswer(err) {
		return err
	}
	return &fault.Unanswered{Err: err}
}

// failed returns the answer to a request that failed with err.
func (c *call) failed(err error) (mcp.Result, error) {
	c.upstream.Availability.LoginEnded(err)
	if away := fault.AsUnavailable(err, c.upstream.Config.Name); away != nil && away.ConnectURL != "" {
		return inputrequired.LoginRequired(c.query, away)
	}
	return nil, c.refusal(err)
}
