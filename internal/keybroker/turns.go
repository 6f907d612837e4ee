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
	// maxOfOne bounds those of one pod among them: a bridge that is broken into
	// and asks as often as it can leaves the others theirs.
	maxOfOne = 4
)

// turns lets some requests work at once, and fewer of one caller's. The others
// wait.
type turns struct {
	all chan struct{}

	mu      sync.Mutex
	callers map[string]*line
}

// line is one caller's requests.
type line struct {
	working chan struct{}
	// requests are those that work or wait; without any the line goes.
	requests int
}

func newTurns() *turns {
	return &turns{all: make(chan struct{}, maxAtOnce), callers: map[string]*line{}}
}

// take waits for a turn of the caller and returns how to give it back. The
// error is the context's.
func (t *turns) take(ctx context.Context, caller string) (release func(), err error) {
	l := t.join(caller)
	// One's own turn first: who waits for it keeps nobody else from working.
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

func (t *turns) join(caller string) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.callers[caller]
	if l == nil {
		l = &line{working: make(chan struct{}, maxOfOne)}
		t.callers[caller] = l
	}
	l.requests++
	return l
}

func (t *turns) leave(caller string, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.requests--; l.requests == 0 {
		delete(t.callers, caller)
	}
}

// address returns the address of a connection's other end without its port:
// that of the pod, before anything is known of who runs in it.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
