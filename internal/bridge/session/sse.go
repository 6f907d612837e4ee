// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/rand"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
)

// sse serves the transport of 2024-11-05 at /u/{userID}/sse: one stream from the bridge to the
// client, whose first event contains the URL for the client's messages. A session ends with its
// stream and cannot be restored. The transport belongs to the legacy era only.
type sse struct {
	host Host

	mu   sync.Mutex
	open map[string]*sseSession
}

// NewSSE returns the handler of the transport of 2024-11-05.
func NewSSE(h Host) http.Handler {
	return &sse{host: h, open: map[string]*sseSession{}}
}

// ServeHTTP implements http.Handler.
func (s *sse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("sessionid")
	switch {
	case r.Method == http.MethodGet:
		s.stream(w, r)
	case r.Method == http.MethodPost && id != "":
		s.post(w, r, id)
	default:
		// Clients that try the newer transport first send a POST without a session here, and some
		// fall back to GET only after this answer.
		w.Header().Set("Allow", "GET")
		http.Error(w, "Method Not Allowed: open a stream with GET first", http.StatusMethodNotAllowed)
	}
}

// post handles a message of the client. The answer comes on the stream.
func (s *sse) post(w http.ResponseWriter, r *http.Request, id string) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return
	}
	s.mu.Lock()
	session := s.open[id]
	s.mu.Unlock()
	if session == nil {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if callaudit.WantsEvents(r) {
		w.Header().Set(audit.TrailerName, audit.Later)
	}
	switch r.Header.Get(audit.PostName) {
	case audit.PostHold:
		session.hold(w, r)
	case audit.PostDone:
		session.done(r.Header.Get(headerRequestID))
		w.WriteHeader(http.StatusAccepted)
	default:
		session.accept(w, r, nil)
	}
}

// stream opens a session that lasts until the client closes the stream.
func (s *sse) stream(w http.ResponseWriter, r *http.Request) {
	if s.host.Life.Err() != nil {
		http.Error(w, "the bridge is shutting down", http.StatusServiceUnavailable)
		return
	}
	var late *callaudit.Recorder
	if callaudit.WantsEvents(r) {
		late, w = callaudit.NewLateRecorder(w)
	}
	out := eventstream.NewWriter(w)
	defer out.End()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-cache, no-transform")
	out.Header().Set("Connection", "keep-alive")
	ctx, end := context.WithCancel(callaudit.WithLateRecorder(r.Context(), late))
	defer end()
	id := rand.Text()
	kind := ConnKind{Counts: true, LegacyOnly: true, hops: HopsOf(r.Context(), r.Header, nil)}
	session := newSSESession(newLine(&s.host, kind, func(message []byte) error { return writeEvent(out, "event: message\ndata: ", message) }, end), ctx, late)
	s.mu.Lock()
	s.open[id] = session
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, id)
		s.mu.Unlock()
	}()
	// The client cannot be told of an error on its stream; it sees the error in answers to its messages.
	_ = writeEvent(out, "event: endpoint\ndata: ", []byte(r.URL.Path+"?sessionid="+id))
	defer context.AfterFunc(s.host.Life, end)() //nolint:contextcheck // The stream ends with the bridge too.
	<-ctx.Done()
	_ = http.NewResponseController(out).SetWriteDeadline(time.Now().Add(YieldTimeout)) // The client may not read.
	session.line.end()
	session.end(r.Context().Err() != nil)
	if late != nil {
		s.host.Audit.LogRest(late)
	}
}
