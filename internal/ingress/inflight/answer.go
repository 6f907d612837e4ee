// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
)

// answer is the way to one client. It remembers the status and counts the
// bytes, and knows of an event stream whether an event is under way, so that
// something else than its writer may say that the stream still lives.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64

	// mu is held by whoever writes.
	mu     sync.Mutex
	closed bool
	edge   eventBoundary

	// events is set when the answer has begun and is a stream of events.
	events atomic.Bool
	// wrote is when a byte last went out, and writing since when one has been
	// on its way, zero for none: times of the package's clock.
	wrote, writing atomic.Int64
}

// begun is the zero of the package's clock.
var begun = time.Now()

// ticks is the time as answers note it: it only grows, and one word holds it.
func ticks() int64 { return int64(time.Since(begun)) + 1 }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

// begin notes the status of the answer, and whether events follow.
func (a *answer) begin(status int) {
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status = status
	a.wrote.Store(ticks())
	a.events.Store(status == http.StatusOK && takesComments(a.Header()))
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	return a.write(b)
}

// write is Write with mu held.
func (a *answer) write(b []byte) (int, error) {
	a.writing.Store(ticks())
	n, err := a.ResponseWriter.Write(b)
	a.writing.Store(0)
	a.wrote.Store(ticks())
	a.bytes += int64(n)
	a.edge.add(b[:n])
	return n, err
}

// Flush implements http.Flusher, which gin asks for by name.
func (a *answer) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	a.flush()
}

// flush is Flush with mu held.
func (a *answer) flush() {
	a.writing.Store(ticks())
	// The error says that the client is gone; the next write says so too.
	_ = http.NewResponseController(a.ResponseWriter).Flush()
	a.writing.Store(0)
}

// Unwrap gives http.ResponseController the connection's deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// StatusClientClosed stands in metrics and logs for a client that left before
// it was answered. It is never sent.
const StatusClientClosed = 499

// Status is the status that the client saw, or 499 when it left before there
// was one.
func (a *answer) Status() int {
	if a.status == 0 {
		return StatusClientClosed
	}
	return a.status
}

// Began reports whether the client has, or gets, a status.
func (a *answer) Began() bool { return a.status != 0 }

// Bytes is how many bytes of the answer's body went out.
func (a *answer) Bytes() int64 { return a.bytes }

// KeepAliveComment is a comment of an event stream, which clients pass over,
// and the end of an event that has nothing.
const KeepAliveComment = ": keep-alive\n\n"

// keepAlive writes a comment into a stream between two events, and reports
// whether it did. Where something is being written, nothing need be added.
func (a *answer) keepAlive() bool {
	if !a.mu.TryLock() {
		return false
	}
	defer a.mu.Unlock()
	if a.closed || !a.edge.reached() {
		return false
	}
	if _, err := a.write([]byte(KeepAliveComment)); err != nil {
		return false
	}
	a.flush()
	return true
}

// close waits for a comment that is being written and lets no other follow:
// the connection is its server's when the handler has returned.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// betweenEvents reports whether the answer is a stream of events that may end
// here without cutting one. It does not wait for one that is being written.
func (a *answer) betweenEvents() bool {
	if !a.mu.TryLock() {
		return false
	}
	defer a.mu.Unlock()
	return a.events.Load() && a.edge.reached()
}

// takesComments reports whether comments can be added to what follows h:
// events whose length is not told and that are not compressed.
func takesComments(h http.Header) bool {
	return bridgeclient.IsEventStream(h) && h.Get("Content-Length") == "" && h.Get("Content-Encoding") == ""
}

// eventBoundary tells from the last bytes of an event stream whether they end an
// event. Lines end with LF, CR or both, and an empty line ends an event.
type eventBoundary struct {
	begun bool
	tail  [3]byte
}

// add takes the next bytes of the stream.
func (e *eventBoundary) add(b []byte) {
	if len(b) == 0 {
		return
	}
	e.begun = true
	if len(b) < len(e.tail) {
		b = append(e.tail[len(b):len(e.tail):len(e.tail)], b...)
	}
	copy(e.tail[:], b[len(b)-len(e.tail):])
}

// reached reports whether the stream is between two events. Nothing yet is.
func (e *eventBoundary) reached() bool {
	if !e.begun {
		return true
	}
	last := string(e.tail[1:])
	return last == "\n\n" || last == "\r\r" || last == "\n\r" ||
		last == "\r\n" && (e.tail[0] == '\n' || e.tail[0] == '\r')
}
