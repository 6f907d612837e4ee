// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// toldAtOnce is the number of calls in one comment. So many calls, including the names of
// arguments, fit into the ingress's line limit.
const toldAtOnce = 3

// eventWriter is an answer that also reports its tool calls to the ingress. In an event stream it
// writes a comment before an event, so that the ingress writes the audit entries before it passes
// the event on.
type eventWriter struct {
	http.ResponseWriter
	// take returns the calls not reported yet. add puts back a call that could not be reported.
	take func() []audit.Call
	add  func(audit.Call) bool
}

// Unwrap serves http.ResponseController.
func (t *eventWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Flush implements http.Flusher.
func (t *eventWriter) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Write implements http.ResponseWriter. An event begins with its name.
func (t *eventWriter) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("event: ")) || t.Header().Get("Content-Type") != "text/event-stream" {
		return t.ResponseWriter.Write(p)
	}
	calls := t.take()
	if len(calls) == 0 {
		return t.ResponseWriter.Write(p)
	}
	comments := commentsOf(calls)
	n, err := t.ResponseWriter.Write(append(comments, p...))
	if err != nil {
		for _, c := range calls {
			t.add(c)
		}
	}
	return max(0, n-len(comments)), err
}

// commentsOf returns the comments that report calls.
func commentsOf(calls []audit.Call) (comments []byte) {
	for some := range slices.Chunk(calls, toldAtOnce) {
		comments = append(comments, audit.EventPrefix...)
		comments = append(comments, audit.EncodeTrailer(some)...)
		comments = append(comments, '\n')
	}
	return comments
}

// The limits of late calls: how many sessions, and how many calls for each session.
const (
	maxLateSessions = 256
	maxLateCalls    = 64
)

// deferred holds the calls of sessions whose answers are not sent in the answer to the request.
type deferred struct {
	mu   sync.Mutex
	open map[string]*Recorder
}

// add keeps a call of a session, and returns false if there is no room.
func (l *deferred) add(session string, c audit.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.open[session]
	switch {
	case session == "" || r == nil && len(l.open) >= maxLateSessions:
		return false
	case l.open == nil:
		l.open = map[string]*Recorder{}
	}
	if r == nil {
		r = &Recorder{most: maxLateCalls}
		l.open[session] = r
	}
	return r.add(c)
}

// take removes and returns the calls of a session.
func (l *deferred) take(session string) []audit.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.open[session].take()
	delete(l.open, session)
	return calls
}

// WantsEvents reports whether the ingress that sent the request reads audit entries from event
// streams.
func WantsEvents(r *http.Request) bool { return r.Header.Get(audit.TrailerName) == audit.InStreams }
