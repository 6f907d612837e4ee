// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// A client with a broken connection opens its stream again before the bridge knows that the old
// connection is gone: proxies in between report it late or never. The SDK refuses a second request
// for a stream. Here the newest request gets the stream, and the previous one ends, as if its
// client were still connected.

// YieldTimeout limits how long a request takes to release its stream. It takes no time unless a
// write is blocked by a client that does not read.
const YieldTimeout = time.Second

// streamOwners are the requests of a session by the SDK's name of their stream; the name is empty
// for the stream that belongs to no request.
type streamOwners struct {
	mu sync.Mutex
	of map[string]*streamOwner
}

// streamOwner is a request whose answer is a stream, or may become one.
type streamOwner struct {
	all    *streamOwners
	answer http.ResponseWriter
	cancel context.CancelFunc
	over   chan struct{} // closed when the SDK has released the stream

	// streamOwners.mu guards stream.
	stream string
	has    bool
	ended  bool
}

// join returns a request that ends when another request takes its stream, and the owner, which is
// registered until leave.
func (l *streamOwners) join(w http.ResponseWriter, r *http.Request) (*http.Request, *streamOwner) {
	ctx, cancel := context.WithCancel(r.Context())
	return r.WithContext(ctx), &streamOwner{all: l, answer: w, cancel: cancel, over: make(chan struct{})}
}

// leave removes the owner after the SDK has served the request.
func (l *streamOwner) leave() {
	l.cancel()
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.ended = true
	if l.has && l.all.of[l.stream] == l {
		delete(l.all.of, l.stream)
	}
	close(l.over)
}

// own records the stream of the request, and returns its previous owner, or nil.
func (l *streamOwner) own(stream string) (before *streamOwner) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if l.all.of == nil {
		l.all.of = map[string]*streamOwner{}
	}
	before = l.all.of[stream]
	l.stream, l.has, l.all.of[stream] = stream, true, l
	return before
}

// takeOver calls own for a stream that another request may have. It returns once that request has
// released the stream. A request that is itself replaced in the meantime waits too, because its
// replacement depends on it.
func (l *streamOwner) takeOver(stream string) {
	before := l.own(stream)
	if before == nil {
		return
	}
	before.cancel()
	timer := time.NewTimer(YieldTimeout)
	defer timer.Stop()
	select {
	case <-before.over:
		return
	case <-timer.C:
	}
	before.failWrites()
	<-before.over
}

// failWrites makes current writes for the request fail.
func (l *streamOwner) failWrites() {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if !l.ended {
		// If no deadline can be set, the request ends all the same.
		_ = http.NewResponseController(l.answer).SetWriteDeadline(time.Now())
	}
}

// serveStream lets the SDK serve a POST. A GET may take over its stream.
func (s *Session) serveStream(w http.ResponseWriter, r *http.Request) {
	r, l := s.listeners.join(w, r)
	defer l.leave()
	s.transport.ServeHTTP(&ownerWriter{ResponseWriter: w, listener: l}, r)
}

// serveBrokenStream lets the SDK serve a GET for a stream. On the stream of a request the SDK
// sends nothing before the next event, so proxies would close the connection during a long call.
func (s *Session) serveBrokenStream(w http.ResponseWriter, r *http.Request, stream string) {
	r, l := s.listeners.join(w, r)
	defer l.leave()
	l.takeOver(stream)
	if stream != "" {
		w.Header().Set("Cache-Control", "no-cache, no-transform")
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	}
	s.transport.ServeHTTP(w, r)
}

// ownerWriter is the answer to a POST. It reads the stream's name from the first event: before the
// client has this event, no request can ask for the stream.
type ownerWriter struct {
	http.ResponseWriter
	listener *streamOwner
	known    bool
}

// Unwrap serves http.ResponseController.
func (o *ownerWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Write implements http.ResponseWriter. The SDK writes each event at once, with its id in the
// second line.
func (o *ownerWriter) Write(p []byte) (int, error) {
	if !o.known {
		if stream, ok := streamOf(p); ok {
			o.known = true
			o.listener.own(stream)
		}
	}
	return o.ResponseWriter.Write(p)
}

// streamOf returns the stream of an event of the SDK.
func streamOf(event []byte) (stream string, ok bool) {
	name, rest, ok := bytes.Cut(event, []byte("\n"))
	if !ok || !bytes.HasPrefix(name, []byte("event: ")) {
		return "", false
	}
	id, ok := bytes.CutPrefix(rest, []byte("id: "))
	if !ok {
		return "", false
	}
	id, _, _ = bytes.Cut(id, []byte("\n"))
	before, _, ok := bytes.Cut(id, []byte("_"))
	return string(before), ok
}
