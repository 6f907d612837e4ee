// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"net"
	"sync"
)

const (
	// maxAtOnce bounds the requests that read the API server at once, and
	// with them the load on it when all bridges start together.
	maxAtOnce = 64
	// maxOfOne bounds the requests of one pod among them: a compromised bridge
	// that sends as many as it can leaves room for the others.
	maxOfOne = 4
)

// fairQueue bounds the requests that run at once, and more tightly those of one
// caller. The others wait.
type fairQueue struct {
	all chan struct{}

	mu      sync.Mutex
	callers map[string]*callerQueue
}

// callerQueue has one caller's requests.
type callerQueue struct {
	working chan struct{}
	// requests are those that run or wait; at zero the queue of the caller is
	// removed.
	requests int
}

func newFairQueue() *fairQueue {
	return &fairQueue{all: make(chan struct{}, maxAtOnce), callers: map[string]*callerQueue{}}
}

// take waits for a turn of the caller and returns the function that ends it.
// The error is the context's.
func (t *fairQueue) take(ctx context.Context, caller string) (release func(), err error) {
	l := t.join(caller)
	// The caller's own limit first: a request that waits for it blocks no other
	// caller.
	select {
	case l.working <- struct{}{}:
	case <-ctx.Done():
		t.leave(caller, l)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-l.working
		t.leave(caller, l)
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-l.working
		t.leave(caller, l)
	}, nil
}

func (t *fairQueue) join(caller string) *callerQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.callers[caller]
	if l == nil {
		l = &callerQueue{working: make(chan struct{}, maxOfOne)}
		t.callers[caller] = l
	}
	l.requests++
	return l
}

func (t *fairQueue) leave(caller string, l *callerQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.requests--; l.requests == 0 {
		delete(t.callers, caller)
	}
}

// address returns the address of a connection's other end without its port:
// that of the pod, before the process in it is identified.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
