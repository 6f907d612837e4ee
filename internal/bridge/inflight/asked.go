// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
	// Questions are the open ones that the server may cancel.
	Questions Questions

	limit *AskLimit
	ended chan struct{}

	mu    sync.Mutex
	open  map[string]bool // the requests by id; true for questions to clients
	notes []int           // the units of the notifications, in order
	units int
	room  chan struct{} // closed when there is room for notifications again; nil while nobody waits
	// stalled says that no client took a notification for noteStall.
	stalled bool
	over    bool
}

// NewAsked returns the messages of a new connection.
func NewAsked(limit *AskLimit) *Asked {
	return &Asked{limit: limit, ended: make(chan struct{}), open: map[string]bool{}}
}

// ErrRepeated says that a request has the id of one that waits for its answer. The SDK answers
// neither, so it does not get the second.
var ErrRepeated = errors.New("a request with this id waits for its answer already")

// Enter counts a request of the server until Leave is called with its id. It waits while the
// bridge answers many others. refused says that the server asks too many questions at once.
func (a *Asked) Enter(ctx context.Context, id, method string) (refused bool, err error) {
	if a == nil {
		return false, nil
	}
	question := methods.Of(method).IsQuestion() && a.limit.addQuestion()
	if !question {
		select {
		case a.limit.answering <- struct{}{}:
		case <-a.ended:
			return false, io.EOF
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	if err := a.add(id, question); err != nil {
		a.limit.done(question)
		return false, err
	}
	return methods.Of(method).IsQuestion() && !question, nil
}

// add counts a request as open.
func (a *Asked) add(id string, question bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, repeated := a.open[id]; repeated {
		return ErrRepeated
	}
	if a.over {
		return io.EOF
	}
	a.open[id] = question
	return nil
}

// Leave says that the request with the id has its answer.
func (a *Asked) Leave(id string) {
	a.mu.Lock()
	question, ok := a.open[id]
	delete(a.open, id)
	a.mu.Unlock()
	if ok {
		a.limit.done(question)
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
	for _, question := range open {
		a.limit.done(question)
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
func (a *Asked) EnterNote(ctx context.Context, method string, size int) bool {
	if a == nil || !methods.Of(method).ToClients() {
		return true
	}
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

// IDText returns the id of a request in one form, however the server writes it: the SDK repeats
// it in its own.
func IDText(id any) string {
	switch v := id.(type) {
	case string:
		return "s" + v
	case float64:
		return fmt.Sprint("n", int64(v))
	}
	return fmt.Sprint("n", id)
}

// textOf is IDText of an id in JSON.
func textOf(raw json.RawMessage) string {
	var id any
	_ = json.Unmarshal(raw, &id) // It is part of a valid message.
	return IDText(id)
}
