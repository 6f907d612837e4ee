// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
)

const (
	// ReplayBytes limits what is stored for clients that resume broken streams, over all sessions.
	ReplayBytes = 4 << 20
	// eventCost and streamCost are what an event takes beside its message, and a stream beside its events and the id of
	// its request, in bytes. TestWhatIsKeptTakesNoMoreThanItMay measures them.
	eventCost  = 64
	streamCost = 384
)

// replay keeps streams and their events for clients that come back. The oldest events go first.
type replay struct {
	mu    sync.Mutex
	size  int
	order []*stream // of each event, the oldest first
	// streams are those of requests, by id. A stream is there until its requests are answered and its events are gone.
	streams map[string]*stream
}

// history are the events of one stream that are kept, by their number. replay.mu guards it.
type history struct {
	first  int      // the number of the first
	events [][]byte // nil for an event without a message
}

// cost returns what an event takes. The memory of a message is often larger than the message.
func cost(message []byte) int { return cap(message) + eventCost }

// cost returns what a stream takes beside its events.
func (s *stream) cost() int { return streamCost + len(s.request) }

// open keeps a stream from the beginning of its requests on.
func (r *replay) open(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[s.id] = s
}

// find returns a stream of a session that is kept, or nil.
func (r *replay) find(session *streamable, id string) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.streams[id]; s != nil && s.session == session {
		return s
	}
	return nil
}

// answered says that the requests of a stream are answered.
func (r *replay) answered(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(s.done)
	r.release(s)
}

// release forgets a stream that has nothing for a client that comes back. The caller holds r.mu.
func (r *replay) release(s *stream) {
	if len(s.history.events) == 0 && s.done != nil && inflight.Closed(s.done) {
		delete(r.streams, s.id)
	}
}

// add keeps an event, and returns its number in the stream. One that is larger than all that is kept is not kept,
// and neither are those before it, without which nobody resumes the stream.
func (r *replay) add(s *stream, message []byte) (number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &s.history
	number = h.first + len(h.events)
	if cost(message)+s.cost() > ReplayBytes {
		r.remove(func(of *stream) bool { return of == s })
		h.first = number + 1
		return number
	}
	if len(h.events) == 0 {
		r.size += s.cost()
	}
	h.events = append(h.events, message)
	r.order = append(r.order, s)
	r.size += cost(message)
	for r.size > ReplayBytes {
		oldest := r.order[0]
		r.order[0] = nil
		r.order = r.order[1:]
		r.cut(oldest, 1)
	}
	return number
}

// cut forgets the first n events of a stream. The caller holds r.mu.
func (r *replay) cut(s *stream, n int) {
	h := &s.history
	for i, message := range h.events[:n] {
		r.size -= cost(message)
		h.events[i] = nil
	}
	h.first, h.events = h.first+n, h.events[n:]
	if n > 0 && len(h.events) == 0 {
		h.events = nil
		r.size -= s.cost()
		r.release(s)
	}
}

// forget forgets the message of an event.
func (r *replay) forget(s *stream, message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, each := range s.history.events {
		if len(each) > 0 && &each[0] == &message[0] {
			r.size -= cap(each)
			s.history.events[i] = nil
		}
	}
}

// after returns the events of a stream behind that of a number. It returns false if one of them is not kept any more.
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

// drop forgets the streams of a session.
func (r *replay) drop(session *streamable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(func(of *stream) bool { return of.session == session })
	maps.DeleteFunc(r.streams, func(_ string, s *stream) bool { return s.session == session })
}

// remove forgets the events of streams. The caller holds r.mu.
func (r *replay) remove(which func(*stream) bool) {
	r.order = slices.DeleteFunc(r.order, func(s *stream) bool {
		if !which(s) {
			return false
		}
		r.cut(s, len(s.history.events))
		return true
	})
}
