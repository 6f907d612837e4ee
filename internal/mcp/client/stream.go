// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Stream is a connection to a server on which all messages travel.
type Stream interface {
	// Read returns the next message of the server. After Close it returns an error.
	Read() (rpc.Message, error)
	// Write sends a message, which is one line of JSON. header is for streams over HTTP; it may be nil.
	Write(ctx context.Context, header http.Header, text []byte) error
	// Close ends the connection.
	Close() error
}

// Dialer connects to a server. ctx limits the attempt, not the connection.
type Dialer func(ctx context.Context) (Stream, error)

// Dial begins a connection on a stream. ctx limits the attempt, not the connection.
func (d Dialer) Dial(ctx context.Context, o Options) (*Session, error) {
	stream, err := d(ctx)
	if err != nil {
		return nil, err
	}
	s := newSession(ctx, o)
	w := &streamWire{session: s, stream: stream, open: map[int64]*waiting{}}
	s.wire = w
	go w.listen()
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// streamWire is a wire on one stream.
type streamWire struct {
	session *Session
	stream  Stream

	mu sync.Mutex
	// open are the requests that wait for answers, by id. newest is the highest id so far.
	open   map[int64]*waiting
	newest int64
}

// waiting is a request that waits for its answer.
type waiting struct {
	request *Request
	answer  chan answer // capacity 1
}

// answer is the outcome of a request.
type answer struct {
	result json.RawMessage
	err    error
}

// listen reads the messages of the server until the connection ends.
func (w *streamWire) listen() {
	for {
		m, err := w.stream.Read()
		switch {
		case err != nil:
			w.session.fail(err)
			return
		case !m.Request:
			w.answered(m)
		case m.ID != nil:
			w.session.options.Receiver.Asked(w.session.life, w.session, nil, m)
		default:
			w.session.options.Receiver.Notified(w.session.life, nil, m)
		}
	}
}

// call implements wire.
func (w *streamWire) call(ctx context.Context, q *Request, id int64) (json.RawMessage, error) {
	waits := &waiting{request: q, answer: make(chan answer, 1)}
	w.mu.Lock()
	w.open[id] = waits
	w.newest = max(w.newest, id)
	w.mu.Unlock()
	defer w.forget(id)
	if q.Observer != nil {
		q.Observer.Sending()
	}
	if err := w.stream.Write(ctx, q.Header, rpc.Append(nil, requestID(id), q.Method, q.Params)); err != nil {
		return nil, fmt.Errorf("send %q: %w", q.Method, err)
	}
	if q.Observer != nil {
		q.Observer.Sent()
	}
	var err error
	select {
	case a := <-waits.answer:
		return a.result, a.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-w.session.calling.Done():
		err = ErrClosed
	case <-w.silence(q):
		// Some programs do not answer methods that they do not know.
		err = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server does not answer"}
	}
	select {
	case a := <-waits.answer: // It came before: a program may answer and exit.
		return a.result, a.err
	default:
		return nil, err
	}
}

// silence returns a channel that fires when the server has left the first request of 2026-07-28 without an
// answer for too long.
func (w *streamWire) silence(q *Request) <-chan time.Time {
	if q.Method != methods.Discover || w.session.options.Silence <= 0 {
		return nil
	}
	return time.After(w.session.options.Silence)
}

func (w *streamWire) forget(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
}

// answered gives an answer to the request that waits for it.
func (w *streamWire) answered(m rpc.Message) {
	waits, fault := w.waiting(m)
	if waits == nil {
		return
	}
	a := answer{result: m.Result}
	switch failure := m.Failure(); {
	case fault != "":
		a = answer{err: rpc.InvalidAnswer(fault)}
	case failure != nil:
		a = answer{err: failure}
	case waits.request.most > 0 && len(m.Result) > waits.request.most:
		a = answer{err: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the server's answer is too large",
			Data: jsondoc.EncodeExact(map[string]string{"code": rpc.CodeAnswerTooLarge}),
		}}
	}
	if o := waits.request.Observer; o != nil {
		if err := o.Answered(w.session.life, a.result); err != nil && a.err == nil {
			a = answer{err: err}
		}
	}
	waits.answer <- a
}

// waiting returns the request that an answer belongs to, and removes it from those that wait. fault says
// what is wrong with the answer. One with an unknown id belongs to the request whose number is the text of
// the id, or to the only one that waits. An id that a request had is not unknown, since the answer to a
// cancelled request may come late.
func (w *streamWire) waiting(m rpc.Message) (found *waiting, fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, number := numberOf(m.ID)
	fault = m.Fault
	if w.open[id] == nil || !number {
		if number && 0 < id && id <= w.newest {
			return nil, ""
		}
		text, err := strconv.ParseInt(jsonscan.Text(m.ID), 10, 64)
		switch {
		case err == nil && w.open[text] != nil:
			id = text
		case len(w.open) != 1:
			return nil, ""
		default:
			for id = range w.open { // There is one.
			}
		}
		if fault == "" {
			fault = "its id is not that of the request"
		}
	}
	found = w.open[id]
	delete(w.open, id)
	return found, fault
}

// numberOf returns an id as a number. Some servers write whole numbers as 1.0.
func numberOf(id json.RawMessage) (n int64, ok bool) {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return int64(f), err == nil && float64(int64(f)) == f
}

// send implements wire.
func (w *streamWire) send(ctx, _ context.Context, _ string, text []byte) error {
	if w.session.life.Err() != nil {
		return ErrClosed
	}
	return w.stream.Write(ctx, nil, text)
}

// begin implements wire. There is one stream for everything.
func (w *streamWire) begin(context.Context) error { return nil }

// close implements wire.
func (w *streamWire) close() { _ = w.stream.Close() }
