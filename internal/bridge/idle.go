// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"time"
)

// drowse returns when to look whether the connection l is still used, and nil
// when it is time to end it. Where the configuration keeps connections it
// returns a channel on which nothing comes.
func (u *upstream) drowse(l *link) <-chan time.Time {
	limit := time.Duration(u.server.Timeouts.Idle)
	if limit <= 0 {
		return make(chan time.Time)
	}
	quiet := l.quiet(time.Now())
	if quiet >= limit && !u.watched() {
		return nil
	}
	return time.After(max(limit-quiet, limit/4))
}

// quiet returns for how long nothing has been called on the connection.
func (l *link) quiet(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.exchanges) > 0 {
		return 0
	}
	return now.Sub(l.used)
}

// touch notes that somebody is about to use the connection.
func (l *link) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = time.Now()
}

// watched reports whether somebody waits for what the server says by itself.
func (u *upstream) watched() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.watching) > 0
}

// sleep waits until somebody needs the server, or its secrets change. What it
// listed stays, and so does its health.
func (u *upstream) sleep(ctx context.Context, g *grant) {
	select {
	case <-ctx.Done():
	case <-g.life.Done():
	case <-u.kick:
	}
}
