// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// calls counts the requests that are worked on. Streams by which clients only
// listen are not among them: they would never end by themselves.
//
// A legacy call goes on when the POST that brought it breaks, and its client can
// get the answer from another stream. Such calls are counted besides their POSTs,
// and whichever are more are in flight: an answer is not at its client when the
// call has ended, and the call has not ended when nobody reads its answer.
type calls struct {
	mu     sync.Mutex
	single int // requests that are counted once
	posts  int // over HTTP
	posted int // legacy requests that came in them
	total  uint64
	none   chan struct{} // closed when none is in flight; nil while nobody waits
}

const (
	// maxPosted bounds the legacy requests that are worked on at a time: more
	// than a batch of the largest tier has. Nothing else bounds those whose POSTs
	// broke.
	maxPosted = 1024
	// codeRefused is the JSON-RPC code by which the ingress refuses too.
	codeRefused = -32050
)

var errTooManyCalls = &jsonrpc.Error{
	Code: codeRefused, Message: fmt.Sprintf("%d calls are in progress already, those among them whose clients are gone", maxPosted),
	Data: json.RawMessage(`{"code":"too_many_calls"}`),
}

// begin counts r until the returned function is called, if it is a POST.
func (c *calls) begin(r *http.Request) (end func()) {
	if r.Method != http.MethodPost || r.Header.Get(headerMethod) == methodListen {
		return func() {}
	}
	return c.count(&c.posts)
}

// add counts a request that nothing else counts until the returned function is
// called.
func (c *calls) add() (end func()) { return c.count(&c.single) }

// addPosted counts a legacy request that came in a POST until the returned
// function is called. It reports false where there are too many.
func (c *calls) addPosted() (end func(), ok bool) {
	c.mu.Lock()
	full := c.posted >= maxPosted
	if !full {
		c.posted++
	}
	c.mu.Unlock()
	if full {
		return func() {}, false
	}
	return func() { c.less(&c.posted) }, true
}

func (c *calls) count(n *int) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
	c.total++
	return func() { c.less(n) }
}

func (c *calls) less(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n--
	if c.busy() == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// busy returns how many are in flight, for who holds c.mu.
func (c *calls) busy() int { return c.single + max(c.posts, c.posted) }

// served returns how many calls have begun since the start.
func (c *calls) served() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// inFlight returns how many calls are worked on, or clients wait for.
func (c *calls) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy()
}

// wait waits until no call is in flight or ctx ends, and returns how many are.
func (c *calls) wait(ctx context.Context) int {
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
	return c.inFlight()
}
