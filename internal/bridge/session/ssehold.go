// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
)

const headerRequestID = "X-Request-Id"

// doneTimeout limits how long an answer waits until the ingress has written the entries of its
// calls. It is longer than the 10 s after which the ingress gives up.
const doneTimeout = 15 * time.Second

// sseSession is a session of HTTP+SSE. The ingress may ask that the POST of a request stays open
// until the request is answered, see audit.PostHold.
type sseSession struct {
	*mcp.SSEServerTransport
	mcp.Connection // nil before Connect
	audit          *callaudit.Trail
	late           *callaudit.Recorder // nil unless the ingress asked for it
	closed         chan struct{}       // closed when no more answers can be written
	closing        func()
	ended          chan struct{} // closed when all calls have ended, too
	clientLeft     bool          // set when the session has ended

	mu   sync.Mutex
	open map[jsonrpc.ID]*post // requests without an answer on the stream
}

// post is a POST that stays open until its request is answered.
type post struct {
	id       string // id of the HTTP request
	recorder *callaudit.Recorder
	extra    *mcp.RequestExtra // names the recorder
	outcome  string
	answered chan struct{}
	written  chan struct{} // receives when the ingress has written the entries
}

func newSSESession(t *mcp.SSEServerTransport, a *callaudit.Trail, late *callaudit.Recorder) *sseSession {
	s := &sseSession{SSEServerTransport: t, audit: a, late: late, ended: make(chan struct{}), open: map[jsonrpc.ID]*post{}}
	s.closed = make(chan struct{})
	s.closing = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// Connect implements mcp.Transport.
func (s *sseSession) Connect(ctx context.Context) (c mcp.Connection, err error) {
	if s.Connection, err = s.SSEServerTransport.Connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close implements mcp.Connection.
func (s *sseSession) Close() error {
	s.closing()
	return s.Connection.Close()
}

// end ends all open POSTs.
func (s *sseSession) end(clientLeft bool) {
	s.clientLeft = clientLeft
	close(s.ended)
}

// hold handles a message. If it is a request, its POST stays open until the request is answered.
func (s *sseSession) hold(w http.ResponseWriter, r *http.Request) {
	m, _ := jsonrpc.DecodeMessage(keepIDs(r))
	request, ok := m.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		s.ServeHTTP(w, r)
		return
	}
	p := &post{id: r.Header.Get(headerRequestID), answered: make(chan struct{}), written: make(chan struct{}, 1)}
	p.recorder, p.extra = s.audit.RecorderOf(r)
	first := s.begin(request.ID, p)
	if s.ServeHTTP(w, r); !first || w.Header().Get("Content-Type") != "" { // A refusal has a text.
		s.take(request.ID, p)
		return
	}
	_ = http.NewResponseController(w).Flush()
	select {
	case <-p.answered:
		_, _ = io.WriteString(w, p.outcome)
	case <-s.ended:
		if s.clientLeft {
			p.recorder.ClientLeft()
		}
	case <-r.Context().Done():
		if s.take(request.ID, p) {
			s.late.Keep(p.recorder.Close())
		}
	}
}

// begin stores p until its request is answered. Of several requests with the same id, the SDK
// accepts the first.
func (s *sseSession) begin(id jsonrpc.ID, p *post) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] != nil {
		return false
	}
	s.open[id] = p
	return true
}

// take removes p, and reports whether it was stored.
func (s *sseSession) take(id jsonrpc.ID, p *post) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] != p {
		return false
	}
	delete(s.open, id)
	return true
}

func (s *sseSession) find(id jsonrpc.ID) *post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// Read implements mcp.Connection. It passes the recorder of a request to the request's handlers.
func (s *sseSession) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := s.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		if p := s.find(r.ID); p != nil {
			r.Extra = p.extra
		}
	}
	return m, err
}

// Write implements mcp.Connection. Before an answer is written, the POST of its request ends, and
// the ingress writes the audit entries of the calls.
func (s *sseSession) Write(ctx context.Context, m jsonrpc.Message) error {
	if a, ok := m.(*jsonrpc.Response); ok {
		s.finish(a)
	}
	return s.Connection.Write(ctx, m)
}

// withdraw implements withdrawer.
func (s *sseSession) withdraw(_ context.Context, a *jsonrpc.Response) error { //nolint:unparam // The interface has errors of other connections.
	s.finish(a)
	return nil
}

// finish ends the POST of the request that is answered.
func (s *sseSession) finish(a *jsonrpc.Response) {
	if p := s.find(a.ID); p != nil {
		s.settle(p, a)
		s.take(a.ID, p)
	}
}

// settle ends p and waits until the entries of its calls are written. If the ingress does not
// confirm it, the calls are reported on the stream.
func (s *sseSession) settle(p *post, a *jsonrpc.Response) {
	calls := p.recorder.Close()
	p.outcome = shortOf(a)
	close(p.answered)
	if len(calls) == 0 {
		return
	}
	timer := time.NewTimer(doneTimeout)
	defer timer.Stop()
	select {
	case <-p.written:
	case <-s.closed:
	case <-timer.C:
		s.late.Keep(calls)
	}
}

// shortOf returns the outcome of a request, as a response without content.
func shortOf(a *jsonrpc.Response) string {
	if a.Error == nil {
		return `{"result":{}}`
	}
	code := int64(jsonrpc.CodeInternalError)
	if rpc, ok := errors.AsType[*jsonrpc.Error](a.Error); ok {
		code = rpc.Code
	}
	return fmt.Sprintf(`{"error":{"code":%d}}`, code)
}

// done releases the answer after the ingress has written its entries.
func (s *sseSession) done(requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.open {
		if p.id == requestID && len(p.written) == 0 {
			p.written <- struct{}{}
		}
	}
}
