// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/database"
)

const (
	// atOnce is how many writes are committed together at most: some milliseconds'
	// work beside the disk's.
	atOnce = 200
	// commitTimeout bounds a commit. It is longer than a file's busy_timeout.
	commitTimeout = 10 * time.Second
)

// commits writes to a file for all who wait, with one commit: a commit waits for
// the disk, which takes some milliseconds however much there is to write. So the
// disk bounds how long one waits, and not how many can write.
type commits struct {
	db *database.DB

	mu      sync.Mutex
	waiting []*write
	busy    bool // somebody commits
	closed  bool
	running sync.WaitGroup
}

// write is what somebody waits for.
type write struct {
	do   func(context.Context, statements) error
	err  error
	done chan struct{}
}

var errClosed = errors.New("the store is closed")

// write returns what do returned, once that is on the disk. A caller who leaves
// before does not know whether it was done.
func (c *commits) write(ctx context.Context, do func(context.Context, statements) error) error {
	w := &write{do: do, done: make(chan struct{})}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.waiting = append(c.waiting, w)
	if !c.busy {
		c.busy = true
		// Those who come while this one is busy are not of one caller's context.
		c.running.Go(func() { c.commitAll(context.WithoutCancel(ctx)) })
	}
	c.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitAll commits until nobody waits.
func (c *commits) commitAll(ctx context.Context) {
	for {
		c.mu.Lock()
		n := min(len(c.waiting), atOnce)
		writes := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.busy = n > 0
		c.mu.Unlock()
		if n == 0 {
			return
		}
		c.commit(ctx, writes)
		for _, w := range writes {
			close(w.done)
		}
	}
}

// commit does the writes in one transaction. That one finds nothing to change is
// its own matter; what the database cannot do is everybody's.
func (c *commits) commit(ctx context.Context, writes []*write) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := c.db.InTx(ctx, func(tx *sql.Tx) error {
		for _, w := range writes {
			w.err = w.do(ctx, tx)
			if w.err != nil && !refused(w.err) {
				return w.err
			}
		}
		return nil
	})
	if err != nil {
		for _, w := range writes {
			w.err = err
		}
	}
}

// close waits for those who write, and lets nobody write after them.
func (c *commits) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}
