// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// stream is what a session sends to its client in the answer to one POST, or outside of them.
//
// A client with a broken connection opens its stream again before the bridge knows that the old connection
// is gone: proxies in between report it late or never. So the newest request gets the stream, and the
// previous one ends, as if its client were still connected.
type stream struct {
	session *streamable
	// id is empty for the stream that belongs to no request. request is the id of the first request, in the
	// form for ids of events.
	id, request string
	history     history
	// done is closed when all requests are answered. It is nil for the stream that belongs to no request.
	done chan struct{}

	mu sync.Mutex // held while an event is written
	// waits is the number of requests without an answer, and cancelled says that one of them gets none.
	waits     int
	cancelled bool
	reads     *reader // nil while no client reads

	owning sync.Mutex
	owner  *reader // the newest request for the stream
}

// errOver says that nothing more can be sent: the request was answered, or the stream has ended.
var errOver = errors.New("the stream has ended")

// send sends a message. A client that does not read now gets it later.
func (s *stream) send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil && s.waits == 0 {
		return errOver
	}
	s.event("message", message)
	return nil
}

// answer sends the answer to one of the requests, nil if its client cancelled it.
func (s *stream) answer(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if message == nil {
		s.cancelled = true
	} else {
		s.event("message", message)
	}
	if s.waits--; s.waits == 0 {
		s.session.store.events.answered(s)
	}
}

// forget implements sender: a client that comes back is not asked again what it has answered.
func (s *stream) forget(question []byte) { s.session.store.events.forget(s, question) }

// begin begins the stream for the request that caused it. prime says that the client knows events without a
// message: the first one has the id by which the stream can be resumed.
func (s *stream) begin(r *reader, prime bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = r
	if prime {
		s.event("prime", nil)
	}
}

// event keeps an event, and writes it to the client if it reads. The caller holds s.mu.
func (s *stream) event(name string, message []byte) {
	number := s.session.store.events.add(s, message)
	if s.reads != nil && s.write(s.reads.answer, name, number, message) != nil {
		s.reads = nil
	}
}

// minPart is the size in bytes from which a message is written by itself, and not copied into an event.
const minPart = 64 << 10

// write writes an event. Its id has the name and number of the stream, the epoch of the session in this
// process and the id of the request, so that a process that does not know the stream can tell the client
// which of its requests will get no answer.
func (s *stream) write(w http.ResponseWriter, name string, number int, message []byte) error {
	return writeEvent(w, fmt.Sprintf("event: %s\nid: %s_%d.%s.%s\ndata: ", name, s.id, number, s.session.mark, s.request), message)
}

// writeEvent writes an event whose beginning is before, and has it sent.
func writeEvent(w http.ResponseWriter, before string, message []byte) error {
	const end = "\n\n"
	parts := [][]byte{[]byte(before), message, []byte(end)}
	if len(message) < minPart {
		parts = [][]byte{append(append(append(make([]byte, 0, len(before)+len(message)+len(end)), before...), message...), end...)}
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil { //nolint:gosec // An event stream is no page.
			return err
		}
	}
	return http.NewResponseController(w).Flush()
}

// resume writes the events behind that of a number to the client, which gets those that come as well. It
// returns false if the stream has ended.
func (s *stream) resume(r *reader, number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, _ := s.session.store.events.after(s, number)
	if s.id == "" {
		// Proxies hold the header back until something follows.
		_, _ = io.WriteString(r.answer, ": ok\n\n")
	}
	_ = http.NewResponseController(r.answer).Flush()
	for _, message := range events {
		if number++; message == nil {
			continue
		}
		if s.write(r.answer, "message", number, message) != nil {
			return false
		}
	}
	s.reads = r
	return s.done == nil || s.waits > 0
}

// reader is a request of the client for a stream.
type reader struct {
	stream *stream
	answer http.ResponseWriter
	ctx    context.Context //nolint:containedctx // It is that of the HTTP request.
	end    context.CancelFunc
	over   chan struct{} // closed when the stream is free for another one
	leaves func() bool   // has the end of the session end the request no more
}

// open makes a request the reader of the stream, once the previous one has left.
func (s *stream) open(w http.ResponseWriter, r *http.Request) *reader {
	ctx, end := context.WithCancel(r.Context())
	own := &reader{stream: s, answer: w, ctx: ctx, end: end, over: make(chan struct{})}
	own.leaves = context.AfterFunc(s.session.closing, own.yield) //nolint:contextcheck // It is the life of the session.
	s.owning.Lock()
	before := s.owner
	s.owner = own
	s.owning.Unlock()
	if before != nil {
		before.yield()
	}
	return own
}

// YieldTimeout limits how long a request takes to release its stream. It takes no time unless a write is
// blocked by a client that does not read.
const YieldTimeout = time.Second

// yield ends the request, and returns when it has released the stream.
func (r *reader) yield() {
	r.end()
	timer := time.NewTimer(YieldTimeout)
	defer timer.Stop()
	select {
	case <-r.over:
		return
	case <-timer.C:
	}
	r.stream.owning.Lock()
	select {
	case <-r.over: // The connection may serve another request.
	default:
		// If no deadline can be set, the request ends all the same.
		_ = http.NewResponseController(r.answer).SetWriteDeadline(time.Now())
	}
	r.stream.owning.Unlock()
	<-r.over
}

// wait waits until the client leaves, the session ends, or nothing more comes.
func (r *reader) wait() {
	select {
	case <-r.ctx.Done():
	case <-r.stream.done:
	}
}

// leave releases the stream.
func (r *reader) leave() {
	r.leaves()
	r.end()
	s := r.stream
	s.mu.Lock()
	if s.reads == r {
		s.reads = nil
	}
	s.mu.Unlock()
	s.owning.Lock()
	defer s.owning.Unlock()
	if s.owner == r {
		s.owner = nil
	}
	close(r.over)
}

// streamHeader writes the header of an event stream.
func streamHeader(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Type", "text/event-stream")
	h.Set("Connection", "keep-alive")
}

// unanswered reports whether the stream has ended, and the client gets no answer to one of its requests.
func (s *stream) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled && s.waits == 0
}
