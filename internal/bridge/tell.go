// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// toldAtOnce is how many calls one comment tells of: as many as fit into what
// the ingress reads, names of arguments included.
const toldAtOnce = 3

// telling is an answer in which the bridge tells the ingress of the calls whose
// answers are in it. In an event stream a comment before an event does it, so
// that the ingress has the entries written before it passes the event on.
type telling struct {
	http.ResponseWriter
	// take returns the calls that have not been told yet, and add keeps one that
	// could not be told.
	take func() []audit.Call
	add  func(audit.Call) bool
}

// Unwrap serves http.ResponseController.
func (t *telling) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Flush implements http.Flusher.
func (t *telling) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Write implements http.ResponseWriter. The SDK writes each event at once.
func (t *telling) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("data:")) || t.Header().Get("Content-Type") != "text/event-stream" {
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

// commentsOf returns the comments that tell of calls.
func commentsOf(calls []audit.Call) (comments []byte) {
	for some := range slices.Chunk(calls, toldAtOnce) {
		comments = append(comments, audit.EventPrefix...)
		comments = append(comments, audit.EncodeTrailer(some)...)
		comments = append(comments, '\n')
	}
	return comments
}

// The bounds of what is kept until a client comes for its answers: so many
// sessions, and of each so many calls.
const (
	maxLateSessions = 256
	maxLateCalls    = 64
)

// lates hold the calls of sessions whose answers take another way than the
// answer to the request.
type lates struct {
	mu   sync.Mutex
	open map[string]*recorder
}

// add keeps a call of a session, and reports false where it cannot.
func (l *lates) add(session string, c audit.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.open[session]
	switch {
	case session == "" || r == nil && len(l.open) >= maxLateSessions:
		return false
	case l.open == nil:
		l.open = map[string]*recorder{}
	}
	if r == nil {
		r = &recorder{most: maxLateCalls}
		l.open[session] = r
	}
	return r.add(c)
}

// take returns what was kept of a session.
func (l *lates) take(session string) []audit.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.open[session].take()
	delete(l.open, session)
	return calls
}

// asksToTell reports whether the request comes from an ingress that takes what
// is told out of event streams.
func asksToTell(r *http.Request) bool { return r.Header.Get(audit.TrailerName) == audit.InStreams }
