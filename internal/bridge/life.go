// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"sync"
)

// life is the lifetime of a bridge: from New to Close, which waits for its goroutines and requests.
type life struct {
	ctx    context.Context // requests to servers derive from it
	cancel context.CancelFunc

	mu   sync.Mutex // held while the bridge closes, or begins something that closing waits for
	done sync.WaitGroup
}

// run runs f in a goroutine for which Close waits.
func (l *life) run(f func()) { l.done.Go(f) }

// admit makes Close wait until leave is called. It returns false if the bridge is closing.
func (l *life) admit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.done.Add(1)
	return true
}

// leave ends what admit began.
func (l *life) leave() { l.done.Done() }

// end begins the end: from now on nothing is admitted.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
}
