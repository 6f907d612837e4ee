// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/breaker"
	"github.com/hostedbridge/hostedbridge/internal/bridge/cache"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/trust"
)

// unreachedCalls is how many calls in a row must fail to reach a server before
// it gets a rest. While it is away each of them waits for it, as a server that
// starts on its first request needs; five are enough to know.
const unreachedCalls = 5

// reach is whether a request reached its server.
type reach int

const (
	// unknown is what ended for another reason before that was known.
	unknown reach = iota
	reached
	missed
)

// reachedBy tells from the error of a request whether it reached its server. It
// goes by what errors are, not by what they say: a server can say anything.
func reachedBy(ctx context.Context, err error) reach {
	var unavailable *unavailableError
	switch {
	case err == nil, answered(err):
		return reached
	case errors.Is(err, errLate):
		return missed
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, errStale):
		return unknown
	case loginFault(err) != nil:
		return unknown
	case errors.As(err, &unavailable):
		if unavailable.reason != "" {
			return unknown // A reason is one that the user can do something about.
		}
		return missed
	case lost(err), unreached(err), rejected(err), broken(err):
		return missed
	}
	return unknown
}

// answered reports whether err is a server's answer.
func answered(err error) bool {
	var rpc *jsonrpc.Error
	return errors.Is(err, errUnreadable) || errors.As(err, &rpc) && rpc.Code != 0 && !ofSDK(rpc)
}

// rejected reports whether the transport refused the request: the SDK's way of
// saying that it failed on the network, or that the status was 429 or one of
// 500 to 504.
func rejected(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && ofSDK(rpc)
}

// broken reports whether the network failed.
func broken(err error) bool {
	var network net.Error
	var target *url.Error
	return errors.As(err, &network) || errors.As(err, &target) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// openError says that a server that could not be reached is given a rest.
type openError struct {
	unavailableError
	until time.Time
}

// seconds returns how long the rest is at now, rounded up.
func (e *openError) seconds(now time.Time) int {
	return max(1, int(math.Ceil(e.until.Sub(now).Seconds())))
}

// policies is the state of what is configured for the servers.
type policies struct {
	records records
	metrics metrics

	mu     sync.Mutex
	of     map[*upstream]*policy
	cache  *cache.Cache
	serial int
}

// policy is the state of one server's.
type policy struct {
	breaker breaker.Breaker
	// grant is what the state belongs to: other secrets may lead elsewhere.
	grant weak.Pointer[grant]
	// link is the shared connection at the last failure. Another one is a sign
	// that the server is back.
	link weak.Pointer[link]
	// prefix is that of the server's keys in the cache, one for each grant.
	prefix string
}

// find returns the state of u. The caller holds p.mu.
func (p *policies) find(b *Bridge, u *upstream) *policy {
	granted := weak.Make(u.granted())
	s, ok := p.of[u]
	if ok && s.grant == granted {
		return s
	}
	if p.of == nil {
		p.of = map[*upstream]*policy{}
		p.cache = cache.New(cacheEntries, cacheBytes)
	}
	servers := b.servers()
	for other, s := range p.of {
		if other == u || !slices.Contains(servers, other) {
			p.cache.Drop(s.prefix)
			delete(p.of, other)
		}
	}
	p.serial++
	s = &policy{grant: granted, prefix: cache.Key(fmt.Sprint(p.serial))}
	p.of[u] = s
	return s
}

// admit lets a call to u through, or says when the next one is.
func (p *policies) admit(b *Bridge, u *upstream) (trial bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(b, u)
	if l := u.peek(); s.breaker.State() == breaker.Open && l.alive() && weak.Make(l) != s.link {
		s.breaker = s.breaker.Hopeful()
	}
	next, d := s.breaker.Ask(time.Now())
	s.breaker = next
	if !d.Pass {
		return false, &openError{unavailableError{server: u.server.Name, reason: "it could not be reached"}, d.Until}
	}
	return d.Trial, nil
}

// settle notes whether a call reached u. The pauses are those between attempts
// to connect, so that a server that is back is called about as soon as it is
// connected.
func (p *policies) settle(b *Bridge, u *upstream, trial bool, r reach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.find(b, u)
	before := s.breaker.State()
	switch r {
	case reached:
		s.breaker = s.breaker.Reached()
	case missed:
		settings := breaker.Settings{Failures: unreachedCalls, Pause: u.timing.backoffMin, MaxPause: u.timing.backoffMax}
		s.breaker = s.breaker.Missed(settings, trial, time.Now(), rand.Float64()) //nolint:gosec // Spreading load needs no secret randomness.
		s.link = weak.Make(u.peek())
	default:
		if trial {
			s.breaker = s.breaker.Undecided()
		}
	}
	if after := s.breaker.State(); after != before && before != breaker.HalfOpen {
		u.log.Info("calls to the server changed", "from", before.String(), "to", after.String())
	}
}

// breakerOf returns whether calls to the server are let through.
func (b *Bridge) breakerOf(u *upstream) breaker.State {
	b.policies.mu.Lock()
	defer b.policies.mu.Unlock()
	return b.policies.find(b, u).breaker.State()
}

// refusal returns err as the client is to see it.
func (c *call) refusal(err error) error {
	name := c.upstream.server.Name
	var open *openError
	switch {
	case errors.As(err, &open):
		seconds := open.seconds(time.Now())
		return upstreamError(fmt.Sprintf("%s; it is tried again in %d s", open.Error(), seconds),
			map[string]any{"code": "upstream_unavailable", "server": name, "retryAfterSeconds": seconds})
	case errors.Is(err, errLate):
		limit := time.Duration(c.upstream.server.Timeouts.Call)
		return upstreamError(fmt.Sprintf("server %q did not answer in %v", name, limit),
			map[string]any{"code": "upstream_timeout", "server": name})
	}
	err = rpcError(err, name)
	var rpc *jsonrpc.Error
	if c.upstream.server.Trust != config.Sanitize || !errors.As(err, &rpc) {
		return err
	}
	// A model reads this as well as a result.
	clean := &jsonrpc.Error{Code: rpc.Code, Message: trust.Clean(rpc.Message)}
	if len(rpc.Data) > 0 {
		clean.Data = trust.CleanJSON(rpc.Data)
	}
	return clean
}

// upstreamError is the answer to a call to which the server gave none.
func upstreamError(message string, data map[string]any) error {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message, Data: b}
}
