// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// Reserve is the memory in bytes for everything else than large messages.
	Reserve = 40 << 20
	// Base is the part of it that the bridge program takes before it has answered a call, as
	// measured.
	Base = 21 << 20
	// Floor is the least memory for messages, for containers that are too small for a bridge.
	Floor = 16 << 20
	// Unlimited is the memory of a process whose system sets no limit, such as on a laptop.
	Unlimited = 512 << 20

	// AnswerFactor is how many bytes of memory one byte of a server's answer takes, at most: from
	// its arrival until the client has it. The bridge program grew by 1.8 to 3.1 bytes for each
	// byte of answers of 4 and 12 MiB for clients of 2026-07-28, and by 3.9 to 4.8 in sessions, as
	// JSON, events or from a program (GOGC=30).
	AnswerFactor = 5
	// RequestFactor is the same for a client's request, until its server has it: measured were 3.9
	// to 5.2 bytes for requests of 4 and 12 MiB.
	RequestFactor = 6
	// SentFactor is the same while the bridge waits for the answer: it keeps the arguments, and
	// the request as it was sent. It is counted in the code, not measured.
	SentFactor = 2

	// Free is the size in bytes up to which messages are not counted. Reserve has room for those of
	// all calls of the largest tier.
	Free = 32 << 10

	// Patience is how long a message waits for memory. Clients' timeouts begin at 60 s.
	Patience = 20 * time.Second
	// RetryAfter is when a client should try again that was refused.
	RetryAfter = 5 * time.Second
)

// ErrBusy says that there was no memory for a message in time.
var ErrBusy = errors.New("the bridge has no memory left for a message of this size")

// Budget is the memory for the messages of a process.
type Budget struct {
	patience time.Duration

	mu       sync.Mutex
	total    int64
	used     int64
	requests int64     // the part of used that requests of clients take
	waiting  [2]queue  // by kind
	arriving []*Answer // being received, oldest first
}

// The kinds of messages. Answers come first: a request ends only with its answer.
const (
	answers = iota
	requests
)

type queue []*waiter

// waiter is a message that waits for memory.
type waiter struct {
	share   *Share
	bytes   int64
	kind    int
	granted chan struct{} // closed when it has the memory
}

// New returns the budget of a process that may use memory bytes in total; 0 means that nothing
// limits it. Messages that wait are refused after patience.
func New(memory int64, patience time.Duration) *Budget {
	if memory <= 0 {
		memory = Unlimited
	}
	return &Budget{total: max(memory-Reserve, Floor), patience: patience}
}

// fits reports whether n more bytes of a share fit. A message always fits when the bridge has no
// other. Requests get half of the memory, so that answers have the rest.
func (b *Budget) fits(s *Share, n int64, kind int) bool {
	if b.used == s.held() {
		return true
	}
	if kind == requests && b.requests > 0 && b.requests+n > b.total/2 {
		return false
	}
	return b.used+n <= b.total
}

// grant gives n bytes to a share. The caller holds b.mu.
func (b *Budget) grant(s *Share, n int64, kind int) {
	b.used += n
	if kind == requests {
		b.requests += n
		s.request += n
	} else {
		s.answers += n
	}
}

// take gives n bytes to a share, when they are there. Messages of a kind are served in the order
// in which they came.
func (b *Budget) take(ctx context.Context, s *Share, n int64, kind int) error {
	b.mu.Lock()
	if len(b.waiting[kind]) == 0 && b.fits(s, n, kind) {
		b.grant(s, n, kind)
		b.mu.Unlock()
		return nil
	}
	w := &waiter{share: s, bytes: n, kind: kind, granted: make(chan struct{})}
	b.waiting[kind] = append(b.waiting[kind], w)
	b.mu.Unlock()
	if err := b.wait(ctx, w); err != nil {
		return b.leave(w, err)
	}
	return nil
}

// wait waits for the memory. In the middle of its patience it cuts off an answer that has been
// arriving for at least as long.
func (b *Budget) wait(ctx context.Context, w *waiter) error {
	for range 2 {
		timer := time.NewTimer(b.patience / 2)
		select {
		case <-w.granted:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
			b.cutSlowest()
		}
	}
	return ErrBusy
}

// leave ends the waiting of a message with err, unless it has just got its memory.
func (b *Budget) leave(w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting[w.kind], w)
	if i < 0 {
		return nil
	}
	b.waiting[w.kind] = slices.Delete(b.waiting[w.kind], i, i+1)
	b.wake()
	return err
}

// wake gives memory to the messages that wait and fit now. The caller holds b.mu.
func (b *Budget) wake() {
	for kind := range b.waiting {
		for len(b.waiting[kind]) > 0 {
			w := b.waiting[kind][0]
			if !b.fits(w.share, w.bytes, kind) {
				return
			}
			b.waiting[kind] = b.waiting[kind][1:]
			b.grant(w.share, w.bytes, kind)
			close(w.granted)
		}
	}
}

// cutSlowest cuts off the answer that has been arriving for longest, if that is long: a server
// that stops in the middle of a large answer would keep the memory from all others.
func (b *Budget) cutSlowest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.arriving) == 0 {
		return
	}
	slowest := b.arriving[0]
	if time.Since(slowest.began) < b.patience/2 {
		return
	}
	slowest.late = true
	b.arriving = b.arriving[1:]
	go slowest.cut()
}

// Used returns the bytes that are in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
