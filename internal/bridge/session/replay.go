// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sync"
)

const (
	// ReplayBytes limits the stored events for clients that resume broken streams, over all sessions.
	ReplayBytes = 4 << 20
	// eventCost is what an event takes beside its message, in bytes.
	eventCost = 64
)

// replay keeps the events of streams for clients that come back. The oldest go first.
type replay struct {
	mu    sync.Mutex
	size  int
	order []kept // the oldest first
}

// kept is an event of a stream, in the order in which all events came.
type kept struct {
	of   *stream
	size int
}

// history are the events of one stream that are kept, by their number. replay.mu guards it.
type history struct {
	first  int      // the number of the first
	events [][]byte // nil for an event without a message
}

// add keeps an event, and returns its number in the stream.
func (r *replay) add(s *stream, data []byte) (number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &s.history
	number = h.first + len(h.events)
	h.events = append(h.events, data)
	r.order = append(r.order, kept{s, len(data) + eventCost})
	r.size += len(data) + eventCost
	for r.size > ReplayBytes {
		oldest := r.order[0]
		r.order = r.order[1:]
		r.size -= oldest.size
		h := &oldest.of.history
		h.events[0] = nil
		h.first, h.events = h.first+1, h.events[1:]
	}
	return number
}

// after returns the events of a stream behind that of a number, and the number of the first of them. It
// returns false if one of them is not kept any more.
func (r *replay) after(s *stream, number int) (events [][]byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &s.history
	if number+1 < h.first {
		return nil, false
	}
	return slices.Clone(h.events[min(number+1-h.first, len(h.events)):]), true
}

// oldest returns the number of the first event of a stream that is kept.
func (r *replay) oldest(s *stream) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.history.first
}

// empty reports whether no event of a stream is kept.
func (r *replay) empty(s *stream) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(s.history.events) == 0
}

// drop forgets the events of a session.
func (r *replay) drop(session *streamable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = slices.DeleteFunc(r.order, func(k kept) bool {
		if k.of.session != session {
			return false
		}
		r.size -= k.size
		k.of.history = history{first: k.of.history.first + len(k.of.history.events)}
		return true
	})
}
