// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"sync"
)

// outboxBytes bounds what waits for a client that reads slowly, in bytes. Whoever
// is that far behind has no use for older progress.
const outboxBytes = 1 << 20

// note is a notification of a server.
type note struct {
	method string
	raw    json.RawMessage
}

// outbox passes notifications on in order without holding up who brings them:
// on a connection that several requests share, a client that does not read must
// not keep the others from their answers.
type outbox struct {
	mu    sync.Mutex
	notes []note
	size  int
	empty chan struct{} // closed when all were passed on; nil while there are none
}

// put has n passed on. What does not fit is dropped.
func (o *outbox) put(n note, pass func(note)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size > 0 && o.size+len(n.raw) > outboxBytes {
		return
	}
	o.notes = append(o.notes, n)
	o.size += len(n.raw)
	if o.empty == nil {
		o.empty = make(chan struct{})
		go o.work(pass)
	}
}

// work passes on until there is nothing left.
func (o *outbox) work(pass func(note)) {
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
		o.size -= len(n.raw)
		o.mu.Unlock()
		pass(n)
	}
}

// flush waits until everything was passed on or ctx ends.
func (o *outbox) flush(ctx context.Context) {
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
