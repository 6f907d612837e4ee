// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// serveMessage serves a message of HTTP+SSE. Its client has the whole answer as
// soon as the bridge has taken it, while the request goes on until the bridge's
// answer ends: some clients read an answer to its end before they send the next
// message, on which that end may depend.
func (s *Server) serveMessage(w http.ResponseWriter, hr *http.Request) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(hr.Context()))
	defer context.AfterFunc(hr.Context(), cancel)()
	d, ended := &detached{ResponseWriter: w, answered: make(chan struct{})}, make(chan any, 1)
	s.messages.Go(func() {
		defer cancel()
		defer func() { ended <- recover() }()
		s.serveRequest(d, hr.WithContext(ctx))
	})
	select {
	case <-d.answered:
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.tracker.WriteTimeout()))
	case aborted := <-ended:
		if aborted != nil {
			panic(aborted)
		}
	}
}

// Wait returns when nothing goes on behind a client's answer, or ctx ends.
// It is called when no other requests are served any more.
func (s *Server) Wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.messages.Wait()
		s.router.proxy.Activator.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// detached is the way to a client that may have its answer before its request
// ends. Nothing may be written to it from then on.
type detached struct {
	mu                  sync.Mutex // guards the deadline, which others set
	http.ResponseWriter            // nil when the client has its answer
	answered            chan struct{}
}

// Unwrap serves http.ResponseController.
func (d *detached) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// Flush implements http.Flusher. With the header of an answer that has no body
// the client has all of it.
func (d *detached) Flush() {
	if d.Header().Get("Content-Length") != "0" {
		_ = http.NewResponseController(d.ResponseWriter).Flush()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ResponseWriter = nil
	close(d.answered)
}

// SetWriteDeadline serves http.ResponseController.
func (d *detached) SetWriteDeadline(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return http.NewResponseController(d.ResponseWriter).SetWriteDeadline(at)
}
