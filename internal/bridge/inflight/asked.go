// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// maxAnswering is how many requests of one server the bridge answers by itself at once, such as
	// pings. Further ones wait unread: each takes a goroutine and an HTTP request, 21 KB.
	maxAnswering = 16
	// MaxQuestions is how many questions of one server may wait for clients at once: twice the
	// calls that the largest tier may make at a time. Further ones are refused.
	MaxQuestions = 128
	// maxNotes bounds the notifications of one connection that wait for clients, in units of
	// noteUnit bytes. Further ones wait unread for noteStall, which is long for a client that reads.
	// Then they are dropped until the client reads again: a server may wait until it has written a
	// notification before it answers a call.
	maxNotes  = 4096
	noteUnit  = 1 << 10
	noteStall = time.Second
)

// AskLimit bounds what one server asks at once, over all its connections.
type AskLimit struct {
	answering chan struct{}

	mu        sync.Mutex
	questions int
}

// NewAskLimit returns the limit of a server.
func NewAskLimit() *AskLimit { return &AskLimit{answering: make(chan struct{}, maxAnswering)} }

// Asked are the messages of a server on one connection that the bridge has not dealt with yet.
type Asked struct {
	limit *AskLimit
	ended chan struct{}

	mu    sync.Mutex
	open  map[string]*OpenRequest // by id
	notes []int                   // the units of the notifications, in order
	units int
	room  chan struct{} // closed when there is room for notifications again; nil while nobody waits
	// stalled says that no client took a notification for noteStall.
	stalled bool
	over    bool
}

// OpenRequest is a request of a server that waits for its answer.
type OpenRequest struct {
	// Ctx ends when the server cancels the request.
	Ctx context.Context //nolint:containedctx // It is that of the request.
	// Withdrawal says in which words the server cancelled the request.
	Withdrawal message.Withdrawal
	// Refused says that the server asks too many questions at once.
	Refused bool

	key      string
	cancel   context.CancelFunc
	question bool // whether it counts as a question
}

// NewAsked returns the messages of a new connection.
func NewAsked(limit *AskLimit) *Asked {
	return &Asked{limit: limit, ended: make(chan struct{}), open: map[string]*OpenRequest{}}
}

// Ended is closed when the connection has ended.
func (a *Asked) Ended() <-chan struct{} { return a.ended }

// ErrRepeated says that a request has the id of one that waits for its answer. It gets no answer, since the
// server could not tell whose it is.
var ErrRepeated = errors.New("a request with this id waits for its answer already")

// Enter counts a request of the server until Leave is called. It waits while the bridge answers many
// others. The request's context ends with ctx, too.
func (a *Asked) Enter(ctx context.Context, id json.RawMessage, method string) (*OpenRequest, error) {
	asks := methods.Of(method).IsQuestion()
	r := &OpenRequest{key: keyOf(id), question: asks && a.limit.addQuestion()}
	r.Refused = asks && !r.question
	if !r.question {
		select {
		case a.limit.answering <- struct{}{}:
		case <-a.ended:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.Ctx, r.cancel = context.WithCancel(ctx)
	if err := a.add(r); err != nil {
		r.cancel()
		a.limit.done(r.question)
		return nil, err
	}
	return r, nil
}

// add counts a request as open.
func (a *Asked) add(r *OpenRequest) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[r.key] != nil {
		return ErrRepeated
	}
	if a.over {
		return io.EOF
	}
	a.open[r.key] = r
	return nil
}

// Withdraw takes the parameters of a notification that cancels a request.
func (a *Asked) Withdraw(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.open[keyOf(p.ID)]; r != nil {
		r.Withdrawal.Set(params)
		r.cancel()
	}
}

// Leave says that the request has been dealt with: its answer has been sent, or it gets none.
func (a *Asked) Leave(r *OpenRequest) {
	a.mu.Lock()
	open := a.open[r.key] == r
	delete(a.open, r.key)
	a.mu.Unlock()
	r.cancel()
	if open {
		a.limit.done(r.question)
	}
}

// Close gives back everything when the connection has ended.
func (a *Asked) Close() {
	a.mu.Lock()
	open := a.open
	a.open = nil
	over := a.over
	a.over = true
	a.mu.Unlock()
	if over {
		return
	}
	close(a.ended)
	for _, r := range open {
		r.cancel()
		a.limit.done(r.question)
	}
}

func (l *AskLimit) addQuestion() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.questions >= MaxQuestions {
		return false
	}
	l.questions++
	return true
}

func (l *AskLimit) done(question bool) {
	if !question {
		<-l.answering
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.questions--
}

// EnterNote counts a notification of size bytes until LeaveNote is called. While there are many
// others it waits for a while. It returns false for a notification to drop.
func (a *Asked) EnterNote(ctx context.Context, size int) bool {
	units := min(1+size/noteUnit, maxNotes)
	for {
		room, ok := a.addNote(units)
		if room == nil {
			return ok
		}
		timer := time.NewTimer(noteStall)
		select {
		case <-room:
			timer.Stop()
			continue
		case <-a.ended:
		case <-ctx.Done():
		case <-timer.C:
			a.mu.Lock()
			a.stalled = a.room == room
			a.mu.Unlock()
		}
		timer.Stop()
		return false
	}
}

// addNote counts a notification if there is room. Otherwise it returns the channel that is closed
// when there is room, or nil if nobody reads.
func (a *Asked) addNote(units int) (room <-chan struct{}, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.units+units <= maxNotes:
		a.notes = append(a.notes, units)
		a.units += units
		return nil, true
	case a.stalled:
		return nil, false
	case a.room == nil:
		a.room = make(chan struct{})
	}
	return a.room, false
}

// LeaveNote says that the oldest notification has been handled.
func (a *Asked) LeaveNote() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return
	}
	a.units -= a.notes[0]
	a.notes = a.notes[1:]
	a.stalled = false
	if a.room != nil {
		close(a.room)
		a.room = nil
	}
}

// keyOf returns one form of an id, however the server writes it.
func keyOf(id json.RawMessage) string {
	key, err := jsondoc.CanonicalExact(id)
	if err != nil {
		return string(id)
	}
	return key
}
