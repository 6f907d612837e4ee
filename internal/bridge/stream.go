// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// keepAlive is how often an event stream carries a comment while nothing
// happens: more often than the minute after which common load balancers drop a
// silent connection.
const keepAlive = 25 * time.Second

// stream is a response that may become an event stream. As one it asks proxies
// not to buffer, and it carries comments so that nobody takes it for dead.
type stream struct {
	http.ResponseWriter

	mu     sync.Mutex // held over each write, so that a comment is not put into an event
	begun  bool
	ended  bool
	ticker *time.Timer
}

func newStream(w http.ResponseWriter) *stream { return &stream{ResponseWriter: w} }

// Unwrap serves http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush implements http.Flusher.
func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	return s.ResponseWriter.Write(p)
}

// begin acts on the content type once it is settled.
func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	if !strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	s.Header().Set("X-Accel-Buffering", "no")
	s.ticker = time.AfterFunc(keepAlive, s.comment)
}

func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if _, err := s.ResponseWriter.Write([]byte(": still here\n\n")); err != nil {
		return
	}
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.ticker.Reset(keepAlive)
}

// end stops the comments. The response must not be used afterwards.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.ticker != nil {
		s.ticker.Stop()
	}
}
