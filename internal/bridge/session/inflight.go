// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Calls counts the requests in progress. Streams on which clients only listen do not count: they
// would never end by themselves.
//
// A legacy call continues when its POST breaks, and the client can fetch the answer from another
// stream. Such calls are counted besides their POSTs, and the larger number counts as in flight: a
// call may end before its answer reaches the client, and a POST may end before its call.
type Calls struct {
	mu     sync.Mutex
	single int // requests that are counted once
	posts  int // over HTTP
	posted int // legacy requests that came in them
	total  uint64
	none   chan struct{} // closed when no call is in flight; nil while nobody waits
}

const (
	// MaxPosted limits the simultaneous legacy requests: it is more than a batch of the largest
	// tier. Nothing else limits requests whose POSTs broke.
	MaxPosted = 1024
	// codeRefused is the JSON-RPC code that the ingress also uses for refusals.
	codeRefused = -32050
)

var errTooManyCalls = &jsonrpc.Error{
	Code: codeRefused, Message: fmt.Sprintf("%d calls are in progress already, those among them whose clients are gone", MaxPosted),
	Data: json.RawMessage(`{"code":"too_many_calls"}`),
}

// begin counts r until the returned function is called, if r is a POST.
func (c *Calls) begin(r *http.Request) (end func()) {
	if r.Method != http.MethodPost || r.Header.Get(message.HeaderMethod) == methods.Listen {
		return func() {}
	}
	return c.count(&c.posts)
}

// add counts a request that is not counted elsewhere, until the returned function is called.
func (c *Calls) add() (end func()) { return c.count(&c.single) }

// AddPosted counts a legacy request from a POST until the returned function is called. It returns
// false if there are too many.
func (c *Calls) AddPosted() (end func(), ok bool) {
	c.mu.Lock()
	full := c.posted >= MaxPosted
	if !full {
		c.posted++
	}
	c.mu.Unlock()
	if full {
		return func() {}, false
	}
	return func() { c.less(&c.posted) }, true
}

func (c *Calls) count(n *int) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
	c.total++
	return func() { c.less(n) }
}

func (c *Calls) less(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n--
	if c.busy() == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// busy returns the number of calls in flight. The caller holds c.mu.
func (c *Calls) busy() int { return c.single + max(c.posts, c.posted) }

// Served returns the number of calls since the start.
func (c *Calls) Served() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// InFlight returns the number of calls that are in progress or that clients wait for.
func (c *Calls) InFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy()
}

// Wait waits until no call is in flight or ctx ends, and returns the number of calls still in
// flight.
func (c *Calls) Wait(ctx context.Context) int {
	c.mu.Lock()
	if c.busy() > 0 && c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	if none != nil {
		select {
		case <-ctx.Done():
		case <-none:
		}
	}
	return c.InFlight()
}

// OpenPosts returns the number of current POSTs.
func (c *Calls) OpenPosts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts
}
