// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

const headerRequestID = "X-Request-Id"

// doneTimeout limits how long an answer waits until the ingress has written the entries of its
// calls. It is longer than the 10 s after which the ingress gives up.
const doneTimeout = 15 * time.Second

// sseSession is a session of HTTP+SSE. The ingress may ask that the POST of a request stays open
// until the request is answered, see audit.PostHold.
type sseSession struct {
	*line
	ctx        context.Context     //nolint:containedctx // It is that of the stream.
	late       *callaudit.Recorder // nil unless the ingress asked for it
	ended      chan struct{}       // closed when all calls have ended, too
	clientLeft bool                // set when the session has ended

	mu   sync.Mutex
	open map[*post]bool // requests without an answer on the stream
	// handled is closed when the last message so far is handled: one is handled after the other.
	handled chan struct{}
}

// post is a POST that stays open until its request is answered.
type post struct {
	id       string // id of the HTTP request
	recorder *callaudit.Recorder
	outcome  string
	answered chan struct{}
	written  chan struct{} // receives when the ingress has written the entries
}

func newSSESession(l *line, ctx context.Context, late *callaudit.Recorder) *sseSession { //nolint:revive // The line comes first.
	s := &sseSession{line: l, ctx: ctx, late: late, ended: make(chan struct{}), open: map[*post]bool{}, handled: make(chan struct{})}
	close(s.handled)
	return s
}

// end ends all open POSTs.
func (s *sseSession) end(clientLeft bool) {
	s.clientLeft = clientLeft
	close(s.ended)
}

// accept takes a message, whose POST is answered at once. p, if set, is told the outcome of a request before the
// answer is sent. It returns false if the message is no request that will be answered.
func (s *sseSession) accept(w http.ResponseWriter, r *http.Request, p *post) bool {
	m, ok := readOne(w, r)
	if !ok {
		return false
	}
	if err := s.invalidAnswer(m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	if !m.Request || m.ID == nil {
		s.inTurn(w)(func() { s.take(s.ctx, m, nil) })
		return false
	}
	requests, twice, ok := s.begin(s.line, m)
	switch {
	case !ok:
		http.Error(w, "session not found", http.StatusNotFound)
		return false
	case twice != nil:
		http.Error(w, duplicate(twice).Message, http.StatusBadRequest)
		return false
	}
	var header http.Header
	if p != nil {
		requests[0].answering = func(err error) { s.settle(p, err) }
		header = http.Header{callaudit.HeaderRecord: r.Header[callaudit.HeaderRecord]}
	}
	handle, begin := s.inTurn(w), func() { s.call(s.ctx, m, header, requests[0]) }
	if m.Method == methods.Initialize {
		go handle(begin) // The answer takes long.
	} else {
		handle(begin)
	}
	return true
}

// readOne reads the message in a body. It returns false after it answered that there is none.
func readOne(w http.ResponseWriter, r *http.Request) (m rpc.Message, ok bool) {
	body, ok := readBody(w, r)
	if !ok {
		return m, false
	}
	in, err := readPosted(body)
	if err == nil && in.batch {
		err = errors.New("malformed payload: a batch")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return m, false
	}
	return in.messages[0], true
}

// inTurn gives the message of a POST its place among the others, and then answers the POST: the client may send the next
// one. The function that it returns must be called: it handles the message when it is its turn.
func (s *sseSession) inTurn(w http.ResponseWriter) (handle func(message func())) {
	handled := make(chan struct{})
	s.mu.Lock()
	before := s.handled
	s.handled = handled
	s.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush()
	return func(message func()) {
		defer close(handled)
		<-before
		message()
	}
}

// hold handles a message. If it is a request, its POST stays open until the request is answered.
func (s *sseSession) hold(w http.ResponseWriter, r *http.Request) {
	p := &post{id: r.Header.Get(headerRequestID), answered: make(chan struct{}), written: make(chan struct{}, 1)}
	p.recorder = s.host.Audit.RecorderOf(r)
	s.mu.Lock()
	s.open[p] = true
	s.mu.Unlock()
	if !s.accept(w, r, p) {
		s.remove(p)
		return
	}
	select {
	case <-p.answered:
		_, _ = io.WriteString(w, p.outcome)
	case <-s.ended:
		if s.clientLeft {
			p.recorder.ClientLeft()
		}
	case <-r.Context().Done():
		if s.remove(p) {
			s.late.Keep(p.recorder.Close())
		}
	}
}

// remove removes p, and reports whether it was there.
func (s *sseSession) remove(p *post) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.open[p]
	delete(s.open, p)
	return was
}

// settle ends the POST of a request with its outcome, and waits until the entries of its calls are written. If
// the ingress does not confirm it, the calls are reported on the stream.
func (s *sseSession) settle(p *post, outcome error) {
	if s.ctx.Err() != nil || !s.holds(p) {
		return // The POST ends with the stream, or has ended.
	}
	defer s.remove(p)
	calls := p.recorder.Close()
	p.outcome = shortOf(outcome)
	close(p.answered)
	if len(calls) == 0 {
		return
	}
	timer := time.NewTimer(doneTimeout)
	defer timer.Stop()
	select {
	case <-p.written:
	case <-s.closing.Done():
	case <-timer.C:
		s.late.Keep(calls)
	}
}

// holds reports whether the POST is open.
func (s *sseSession) holds(p *post) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[p]
}

// shortOf returns the outcome of a request, as a response without content.
func shortOf(outcome error) string {
	failure := rpc.ErrorOf(outcome)
	if failure == nil {
		return `{"result":{}}`
	}
	return fmt.Sprintf(`{"error":{"code":%d}}`, cmp.Or(failure.Code, jsonrpc.CodeInternalError))
}

// done releases the answer after the ingress has written its entries.
func (s *sseSession) done(requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.open {
		if p.id == requestID && len(p.written) == 0 {
			p.written <- struct{}{}
		}
	}
}
