// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// UnreachedCalls is the number of consecutive calls that must fail to reach a server before its
// breaker opens. Each such call waits for the server, which may start on its first request; five
// failures are enough to be sure.
const UnreachedCalls = 5

// policies holds the state of the policies of all servers.
type policies struct {
	// servers returns the configured servers.
	servers func() []*upstream.Server

	mu     sync.Mutex
	of     map[*upstream.Server]*policy
	cache  *resultCache
	serial int
}

// policy is the state of one server's policies.
type policy struct {
	breaker breaker
	// grant is the grant that the state belongs to: with other secrets, requests may go to another
	// place.
	grant weak.Pointer[credential.Grant]
	// link is the shared connection at the last failure. A new connection is a sign that the
	// server is back.
	link weak.Pointer[upstream.Conn]
	// prefix is the prefix of the server's keys in the cache. Each grant has its own.
	prefix string
}

// find returns the state of u. The caller holds p.mu.
func (p *policies) find(u *upstream.Server) *policy {
	granted := weak.Make(u.Granted())
	s, ok := p.of[u]
	if ok && s.grant == granted {
		return s
	}
	if p.of == nil {
		p.of = map[*upstream.Server]*policy{}
		p.cache = newResultCache(cacheEntries, cacheBytes)
	}
	servers := p.servers()
	for other, s := range p.of {
		if other == u || !slices.Contains(servers, other) {
			p.cache.Drop(s.prefix)
			delete(p.of, other)
		}
	}
	p.serial++
	s = &policy{grant: granted, prefix: resultKey(fmt.Sprint(p.serial))}
	p.of[u] = s
	return s
}

// admit lets a call to u pass, or returns an error with the time of the next call.
func (p *policies) admit(u *upstream.Server) (trial bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(u)
	if l := u.Peek(); s.breaker.State() == BreakerOpen && l.Alive() && weak.Make(l) != s.link {
		s.breaker = s.breaker.Hopeful()
	}
	next, d := s.breaker.Ask(time.Now())
	s.breaker = next
	if !d.Pass {
		return false, &fault.CircuitOpen{Server: u.Config.Name, Reason: "it could not be reached", Until: d.Until}
	}
	return d.Trial, nil
}

// settle records whether a call reached u. The pauses are as long as those between attempts to
// connect, so that a recovered server is called soon after it is connected.
func (p *policies) settle(u *upstream.Server, trial bool, r fault.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(u)
	before := s.breaker.State()
	switch r {
	case fault.Reached:
		s.breaker = s.breaker.Reached()
	case fault.Missed:
		settings := breakerSettings{Failures: UnreachedCalls, Pause: u.Timing.BackoffMin, MaxPause: u.Timing.BackoffMax}
		s.breaker = s.breaker.Missed(settings, trial, time.Now(), rand.Float64()) //nolint:gosec // Spreading load needs no secret randomness.
		s.link = weak.Make(u.Peek())
	default:
		if trial {
			s.breaker = s.breaker.Undecided()
		}
	}
	if after := s.breaker.State(); after != before && before != BreakerHalfOpen {
		u.Log.Info("calls to the server changed", "from", before.String(), "to", after.String())
	}
}

// BreakerState returns the state of the server's breaker.
func (p *Pipeline) BreakerState(u *upstream.Server) BreakerState {
	p.Policies.mu.Lock()
	defer p.Policies.mu.Unlock()
	return p.Policies.find(u).breaker.State()
}

// refusal returns err in the form for the client.
func (c *call) refusal(err error) error {
	name := c.upstream.Config.Name
	var open *fault.CircuitOpen
	switch {
	case errors.As(err, &open):
		seconds := open.Seconds(time.Now())
		return fault.NewUpstream(fmt.Sprintf("%s; it is tried again in %d s", open.Error(), seconds),
			map[string]any{"code": "upstream_unavailable", "server": name, "retryAfterSeconds": seconds})
	case errors.Is(err, budget.ErrBusy):
		seconds := int(budget.RetryAfter / time.Second)
		return fault.NewUpstream(fault.BusyText, map[string]any{"code": fault.BusyCode, "server": name, "retryAfterSeconds": seconds})
	case errors.Is(err, fault.ErrTimeout):
		limit := time.Duration(c.upstream.Config.Timeouts.Call)
		return fault.NewUpstream(fmt.Sprintf("server %q did not answer in %v", name, limit),
			map[string]any{"code": "upstream_timeout", "server": name})
	}
	err = fault.ToRPC(err, name)
	var rpc *jsonrpc.Error
	if c.upstream.Config.Trust != bridgeconfig.Sanitize || !errors.As(err, &rpc) {
		return err
	}
	// A model reads this text as it reads a result.
	clean := &jsonrpc.Error{Code: rpc.Code, Message: cleanText(rpc.Message)}
	if len(rpc.Data) > 0 {
		clean.Data = cleanJSON(rpc.Data, false)
	}
	return clean
}

// OpenBreaker blocks calls to u for the length of pause, unless the server is connected again
// before.
func (p *Pipeline) OpenBreaker(u *upstream.Server, pause time.Duration) {
	p.Policies.mu.Lock()
	defer p.Policies.mu.Unlock()
	s := p.Policies.find(u)
	s.breaker = s.breaker.Missed(breakerSettings{Failures: 1, Pause: pause, MaxPause: pause}, false, time.Now(), 1)
}
