// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

const (
	// noteTimeout limits how long servers may take for a notification, and how long a request waits for those before it.
	// Servers answer within a second, or have other troubles.
	noteTimeout = 5 * time.Second
	// maxNotes limits the notifications of a session that wait. Clients send few that are not the same.
	maxNotes = 16
)

// note is a notification of the client for the servers.
type note struct {
	ctx     context.Context //nolint:containedctx // It is that of the message, which outlasts its HTTP request.
	q       *message.Request
	handled chan struct{}
}

// notes are the notifications of a session that are not handled; the first is in progress. Session.mu guards them.
type notes []*note

// notify has a notification handled behind those before it. ctx outlasts the message.
func (s *Session) notify(ctx context.Context, m rpc.Message, header http.Header) {
	n := &note{ctx: context.WithValue(ctx, kindKey{}, s.kind), q: s.request(m, header, &message.Sent{Params: m.Params}), handled: make(chan struct{})}
	n.q.ReadSent()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() == nil && s.notes.add(n) && len(s.notes) == 1 {
		s.running.Go(func() { s.notes.handle(s) }) //nolint:contextcheck // Each notification has its own.
	}
}

// add adds a notification. It returns false if one that says the same waits already, or if too many wait.
func (l *notes) add(n *note) bool {
	if len(*l) > maxNotes {
		return false
	}
	for i, other := range *l {
		if i > 0 && other.q.Method == n.q.Method && bytes.Equal(other.q.Sent.Params, n.q.Sent.Params) {
			return false
		}
	}
	*l = append(*l, n)
	return true
}

// handle handles the notifications of a session, one after the other.
func (l *notes) handle(s *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(*l) > 0 {
		n := (*l)[0]
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(n.ctx, noteTimeout)
		stop := context.AfterFunc(s.closing, cancel)
		_, _ = s.host.Answer(ctx, s, n.q)
		stop()
		cancel()
		close(n.handled)
		s.mu.Lock()
		(*l)[0] = nil // What it says may be large.
		*l = (*l)[1:]
	}
}

// before returns a function that waits until the notifications so far are handled, noteTimeout has passed, or ctx ends.
func (l notes) before() (wait func(ctx context.Context)) {
	if len(l) == 0 {
		return func(context.Context) {}
	}
	handled := l[len(l)-1].handled
	return func(ctx context.Context) {
		timer := time.NewTimer(noteTimeout)
		defer timer.Stop()
		select {
		case <-handled:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}
