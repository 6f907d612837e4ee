// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// A client whose connection broke opens its stream again, and the bridge may not
// know yet that the connection before is gone: what is between them tells it
// later, or never. The SDK refuses the second request for a stream while the
// first is there. Here the newest gets the stream, and the one before ends, as
// that of a client which is still there would.

// yieldTimeout is how long a request may take to let its stream go. It takes no
// time unless something is being written that nobody reads.
const yieldTimeout = time.Second

// listeners are the requests of a session by the SDK's name of the stream that
// they have, empty for the one that belongs to no request.
type listeners struct {
	mu sync.Mutex
	of map[string]*listener
}

// listener is a request whose answer is a stream, or may become one.
type listener struct {
	all    *listeners
	answer http.ResponseWriter
	cancel context.CancelFunc
	over   chan struct{} // closed when the SDK has let go of the stream

	// Guarded by listeners.mu.
	stream string
	has    bool
	ended  bool
}

// join returns a request that ends when another one takes its stream, and the
// listener that it is until leave.
func (l *listeners) join(w http.ResponseWriter, r *http.Request) (*http.Request, *listener) {
	ctx, cancel := context.WithCancel(r.Context())
	return r.WithContext(ctx), &listener{all: l, answer: w, cancel: cancel, over: make(chan struct{})}
}

// leave is after the SDK has served the request.
func (l *listener) leave() {
	l.cancel()
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.ended = true
	if l.has && l.all.of[l.stream] == l {
		delete(l.all.of, l.stream)
	}
	close(l.over)
}

// enter notes the stream that the request has from here on, and returns who had
// it before, nil for nobody.
func (l *listener) enter(stream string) (before *listener) {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if l.all.of == nil {
		l.all.of = map[string]*listener{}
	}
	before = l.all.of[stream]
	l.stream, l.has, l.all.of[stream] = stream, true, l
	return before
}

// take is enter for a request that wants a stream which another may have. It
// returns once that one has let go. A request that is itself ended meanwhile
// waits too, for the sake of the one that waits for it.
func (l *listener) take(stream string) {
	before := l.enter(stream)
	if before == nil {
		return
	}
	before.cancel()
	timer := time.NewTimer(yieldTimeout)
	defer timer.Stop()
	select {
	case <-before.over:
		return
	case <-timer.C:
	}
	before.abort()
	<-before.over
}

// abort fails what is being written for the request.
func (l *listener) abort() {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if !l.ended {
		// One that cannot be written to any more ends all the same.
		_ = http.NewResponseController(l.answer).SetWriteDeadline(time.Now())
	}
}

// converse has the SDK serve a POST, whose stream a GET may take over.
func (s *stay) converse(w http.ResponseWriter, r *http.Request) {
	r, l := s.listeners.join(w, r)
	defer l.leave()
	s.transport.ServeHTTP(&overheard{ResponseWriter: w, listener: l}, r)
}

// relisten has the SDK serve a GET for a stream. Of one that belongs to a request
// the SDK sends nothing before the next event, and what is between would take it
// for dead while a long call goes on.
func (s *stay) relisten(w http.ResponseWriter, r *http.Request, stream string) {
	r, l := s.listeners.join(w, r)
	defer l.leave()
	l.take(stream)
	if stream != "" {
		w.Header().Set("Cache-Control", "no-cache, no-transform")
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	}
	s.transport.ServeHTTP(w, r)
}

// overheard is the answer to a POST, from whose first event the stream's name is
// learned: before the client has that, nobody can ask for the stream.
type overheard struct {
	http.ResponseWriter
	listener *listener
	known    bool
}

// Unwrap serves http.ResponseController.
func (o *overheard) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Write implements http.ResponseWriter. The SDK writes an event at once, its id
// in the second line.
func (o *overheard) Write(p []byte) (int, error) {
	if !o.known {
		if stream, ok := streamOf(p); ok {
			o.known = true
			o.listener.enter(stream)
		}
	}
	return o.ResponseWriter.Write(p)
}

// streamOf returns the stream to which an event of the SDK belongs.
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
