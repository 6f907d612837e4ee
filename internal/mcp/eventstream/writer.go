// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// keepAlive is the interval of comments on a silent event stream. It is shorter than the minute
// after which common load balancers drop a silent connection.
const keepAlive = 25 * time.Second

// Writer is a response that may become an event stream. For a stream it asks proxies not to
// buffer, and it writes comments so that proxies keep the connection open.
type Writer struct {
	http.ResponseWriter

	mu     sync.Mutex // held during each write
	begun  bool
	ended  bool
	within bool // whether an event has begun that is written in parts, into which no comment may come
	ticker *time.Timer
}

// NewWriter returns a writer for an answer that may become an event stream.
func NewWriter(w http.ResponseWriter) *Writer { return &Writer{ResponseWriter: w} }

// Unwrap serves http.ResponseController.
func (s *Writer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush implements http.Flusher.
func (s *Writer) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// WriteHeader implements http.ResponseWriter.
func (s *Writer) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *Writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.within = !bytes.HasSuffix(p, []byte("\n\n"))
	return s.ResponseWriter.Write(p)
}

// begin acts on the content type when the header is written.
func (s *Writer) begin() {
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

func (s *Writer) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !s.within {
		if _, err := s.ResponseWriter.Write([]byte(": still here\n\n")); err != nil {
			return
		}
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
	s.ticker.Reset(keepAlive)
}

// End stops the comments. The response must not be used afterwards.
func (s *Writer) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.ticker != nil {
		s.ticker.Stop()
	}
}
