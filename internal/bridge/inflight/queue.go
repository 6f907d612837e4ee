// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"sync"
)

// outboxBytes limits the waiting messages of a slow client, in bytes. A client that is so far
// behind does not need older progress.
const outboxBytes = 1 << 20

// Notification is a notification of a server.
type Notification struct {
	Method string
	Raw    json.RawMessage
}

// Queue passes notifications on in order without blocking the sender: on a connection that several
// requests share, a client that does not read must not delay the answers of the others.
type Queue struct {
	mu    sync.Mutex
	notes []Notification
	size  int
	empty chan struct{} // closed when the queue is empty; nil while it is empty
}

// Put queues n. It drops n if the queue is full.
func (o *Queue) Put(n Notification, pass func(Notification)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size > 0 && o.size+len(n.Raw) > outboxBytes {
		return
	}
	o.notes = append(o.notes, n)
	o.size += len(n.Raw)
	if o.empty == nil {
		o.empty = make(chan struct{})
		go o.work(pass)
	}
}

// work passes notifications on until the queue is empty.
func (o *Queue) work(pass func(Notification)) {
	for {
		o.mu.Lock()
		if len(o.notes) == 0 {
			close(o.empty)
			o.empty = nil
			o.mu.Unlock()
			return
		}
		n := o.notes[0]
		o.notes = o.notes[1:]
		o.size -= len(n.Raw)
		o.mu.Unlock()
		pass(n)
	}
}

// flush waits until the queue is empty or ctx ends.
func (o *Queue) flush(ctx context.Context) {
	o.mu.Lock()
	empty := o.empty
	o.mu.Unlock()
	if empty == nil {
		return
	}
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
