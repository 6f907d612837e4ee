// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net/http"
	"sync"
)

// calls counts the requests that a client waits for. Streams by which clients
// only listen are not among them: they would never end by themselves.
type calls struct {
	mu    sync.Mutex
	count int
	total uint64        // all that have begun
	none  chan struct{} // closed when count falls to 0; nil while nobody waits
}

// begin counts r until the returned function is called.
func (c *calls) begin(r *http.Request) (end func()) {
	if r.Method != http.MethodPost || r.Header.Get(headerMethod) == methodListen {
		return func() {}
	}
	return c.add()
}

// add counts a call until the returned function is called.
func (c *calls) add() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.total++
	return c.end
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count--
	if c.count == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// served returns how many calls have begun since the start.
func (c *calls) served() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// inFlight returns how many calls clients wait for.
func (c *calls) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// wait waits until no call is in flight or ctx ends, and returns how many are.
func (c *calls) wait(ctx context.Context) int {
	c.mu.Lock()
	if c.count > 0 && c.none == nil {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}
