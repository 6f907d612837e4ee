// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// ErrClosed says that the connection has ended, so that it takes no more requests.
var ErrClosed = errors.New("the connection to the server has ended")

// ErrSessionMissing says that a server does not know the session of a request, so that it did nothing.
var ErrSessionMissing = errors.New("the server does not know the session")

// Options are the settings of a connection.
type Options struct {
	// Version is the version of the protocol to begin with, empty for the newest.
	Version string
	// Info and Capabilities are what the client says of itself.
	Info         *mcp.Implementation
	Capabilities map[string]any
	// Meta is added to the metadata of the requests of the opening.
	Meta map[string]any
	// Watch asks a server of 2026-07-28 to say when its lists change.
	Watch bool
	// MaxIntroduction bounds the answer to the first request, in bytes.
	MaxIntroduction int
	// OpenBy is when the connection must be open, zero for no limit. A request of the opening that a busy
	// server refuses is sent again until then.
	OpenBy time.Time
	// Silence is how long a server on one stream may leave the first request of 2026-07-28 without an
	// answer, before it counts as one of an earlier version. Zero means no limit.
	Silence time.Duration
	// Receiver gets what the server sends outside of answers.
	Receiver Receiver
	// Room returns the memory for the messages in a body over HTTP, and the function to call at its end.
	// of is nil for messages that belong to no request.
	Room func(ctx context.Context, of Observer, body io.Closer) (room eventstream.Room, end func())
}

// Receiver gets the messages of a server that are no answers, one after the other for each stream. of
// observes the request in whose answer a message came; it is nil where that is not known. The methods
// must not wait for an answer of the server.
type Receiver interface {
	// Asked gets a request, which Session.Answer answers.
	Asked(ctx context.Context, s *Session, of Observer, m rpc.Message)
	// Notified gets a notification.
	Notified(ctx context.Context, of Observer, m rpc.Message)
}

// Observer follows one request.
type Observer interface {
	// Sending says that the request is about to be written, so that it may take effect.
	Sending()
	// Sent says that the server has the request.
	Sent()
	// Refused says that the server did nothing.
	Refused()
	// Answered gets the answer: the result, or nil if it is an error. Over one stream it is called before
	// the next message is read. It returns an error if the result is not taken.
	Answered(ctx context.Context, result json.RawMessage) error
	// Notified gets a notification that came in the answer, and reports whether it belongs to the request.
	Notified(method string, params json.RawMessage) bool
	// Withdrawal returns the parameters of the notification that cancels the request, of which sent are the
	// least that it needs.
	Withdrawal(sent json.RawMessage) json.RawMessage
}

// Request is a request to a server.
type Request struct {
	Method string
	// Params is nil for none.
	Params json.RawMessage
	// Header is added to that of the HTTP request.
	Header http.Header
	// Observer is nil for a request that nobody follows.
	Observer Observer
	// most bounds the answer in bytes.
	most int
}

// Server is what a server says of itself.
type Server struct {
	// Version is the version of the protocol on the connection.
	Version      string
	Info         *mcp.Implementation     // nil if it says nothing
	Capabilities *mcp.ServerCapabilities // never nil
	Instructions string
}

// wire carries the messages of a connection.
type wire interface {
	// call sends a request, and returns its answer.
	call(ctx context.Context, q *Request, id int64) (json.RawMessage, error)
	// send sends a notification or an answer, unless ctx or until ends before.
	send(ctx, until context.Context, method string, text []byte) error
	// begin says that both ends know each other. It opens the stream for what belongs to no request.
	begin(ctx context.Context) error
	// close ends the connection.
	close()
}

// Session is a connection to a server.
type Session struct {
	Server

	options Options
	wire    wire
	newest  atomic.Int64 // the id of the last request

	// life ends with the connection, and calling before it, when the connection begins to close.
	life, calling context.Context //nolint:containedctx // They are those of the connection.
	end, stop     context.CancelFunc
	// calls are the requests in flight, and telling the notifications of cancelled ones.
	calls, telling sync.WaitGroup

	closed chan struct{} // closed when Close has ended

	mu      sync.Mutex
	failure error
	closing bool
	// draining says that the connection takes no more requests.
	draining bool
}

// newSession returns a connection that is not open. It has the values of ctx.
func newSession(ctx context.Context, o Options) *Session {
	s := &Session{options: o, closed: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.calling, s.stop = context.WithCancel(s.life)
	return s
}

// Modern reports whether the connection uses 2026-07-28 or a later version.
func (s *Session) Modern() bool { return s.version() >= firstModern }

// version returns the version of the messages, empty while it is not known. Messages may be on their way
// while the connection is opened.
func (s *Session) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Version
}

func (s *Session) setVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Version = version
}

// Done is closed when the connection has ended.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

// Err returns why the connection has ended, nil if Close ended it.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// fail ends the connection because of an error. What is in flight fails, and the server is told in the
// background that its session has ended.
func (s *Session) fail(err error) {
	s.mu.Lock()
	if s.failure == nil && !s.closing {
		s.failure = err
	}
	s.mu.Unlock()
	s.end()
	go s.Close()
}

// drainTime bounds the wait for requests in flight on a connection that takes no more.
const drainTime = 5 * time.Second

// drain refuses new requests because of an error, and ends the connection when those in flight have ended,
// or after drainTime.
func (s *Session) drain(err error) {
	s.mu.Lock()
	if s.failure == nil && !s.closing {
		s.failure = err
	}
	s.draining = true
	s.mu.Unlock()
	await(s.life, drainTime, s.calls.Wait)
	s.fail(err)
}

// await runs wait, and returns when it has returned, after most, or when ctx has ended.
func await(ctx context.Context, most time.Duration, wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// tellTime bounds the wait for the notifications of cancelled requests when a connection closes.
const tellTime = 500 * time.Millisecond

// Close ends the connection, and cancels the requests in flight. It waits until the server has been told of
// these and of the end, each for a limited time.
func (s *Session) Close() {
	s.mu.Lock()
	before := s.closing
	s.closing = true
	s.stop()
	s.mu.Unlock()
	if before {
		<-s.closed
		return
	}
	defer close(s.closed)
	await(s.life, tellTime, func() {
		s.calls.Wait()
		s.telling.Wait()
	})
	s.wire.close()
	s.end()
}

// Call sends a request and returns the result, as the server sent it. An error of the server is a
// *jsonrpc.Error, a refusal by an HTTP status a *StatusError.
func (s *Session) Call(ctx context.Context, q Request) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !s.enter() {
		return nil, s.ended()
	}
	defer s.calls.Done()
	id := s.newest.Add(1)
	result, err := s.wire.call(ctx, &q, id)
	if err != nil {
		return nil, s.unanswered(ctx, &q, id, err)
	}
	return result, nil
}

// unanswered returns the error of a request that failed with err.
func (s *Session) unanswered(ctx context.Context, q *Request, id int64, err error) error {
	status, ok := errors.AsType[*StatusError](err)
	if ok && status.Refused && q.Observer != nil {
		q.Observer.Refused()
	}
	switch {
	case ok, isAnswer(err):
		return err
	case s.life.Err() != nil:
		return s.ended()
	case ctx.Err() != nil:
		s.withdraw(ctx, q, id, ctx.Err())
		return ctx.Err()
	case s.calling.Err() != nil:
		s.withdraw(ctx, q, id, ErrClosed)
		return ErrClosed
	}
	return err
}

// enter counts a request as in flight. It returns false if the connection takes none.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.calling.Err() != nil {
		return false
	}
	s.calls.Add(1)
	return true
}

// ended is the error of a request on a connection that has ended.
func (s *Session) ended() error {
	if err := s.Err(); err != nil {
		return &closedError{err}
	}
	return ErrClosed
}

// closedError says that the connection has ended, and why.
type closedError struct{ cause error }

// Error implements error.
func (e *closedError) Error() string { return e.cause.Error() }

// Unwrap serves errors.Is and errors.As.
func (e *closedError) Unwrap() []error { return []error{ErrClosed, e.cause} }

// isAnswer reports whether err is an error of the server.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// cancelTime bounds the notification that a request is cancelled.
const cancelTime = 5 * time.Second

// withdraw tells the server in the background that a request is cancelled. "initialize" must not be
// ("Cancellation", "Behavior Requirements"), and a server with sessions could begin one for a message
// before it.
func (s *Session) withdraw(ctx context.Context, q *Request, id int64, reason error) {
	if methods.Of(q.Method).Introduces {
		return
	}
	params := jsondoc.EncodeExact(map[string]any{"requestId": id, "reason": reason.Error()})
	if q.Observer != nil {
		params = q.Observer.Withdrawal(params)
	}
	ctx = context.WithoutCancel(ctx)
	s.telling.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, cancelTime)
		defer cancel()
		// What has begun outlasts the connection. The server may be gone.
		_ = s.wire.send(ctx, ctx, methods.Cancelled, rpc.Append(nil, nil, methods.Cancelled, params))
	})
}

// Notify sends a notification. params may be nil.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.wire.send(ctx, s.life, method, rpc.Append(nil, nil, method, params))
}

// Answer sends the answer to a request of the server: the result, or failure if it is not nil.
func (s *Session) Answer(ctx context.Context, id, result json.RawMessage, failure *jsonrpc.Error) error {
	return s.wire.send(ctx, s.life, "", rpc.Answer(id, result, failure))
}

// Listen asks a server of 2026-07-28 for notifications, until stop is called or the connection ends. It
// returns when the server has the request. A stream that breaks off is opened again.
func (s *Session) Listen(ctx context.Context, what map[string]any) (stop func(), err error) {
	life, stop := context.WithCancel(s.life)
	opened := make(chan error, 1)
	go s.listen(life, what, opened) //nolint:contextcheck // The stream outlives the request for it.
	select {
	case err = <-opened:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.life.Done():
		err = s.ended()
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// listen is Listen in its own goroutine. opened gets the outcome of the first request.
func (s *Session) listen(life context.Context, what map[string]any, opened chan<- error) {
	params, open := s.introduced(map[string]any{"notifications": what}), false
	sent := func() {
		if !open {
			open = true
			opened <- nil
		}
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		_, err := s.Call(life, Request{Method: methods.Listen, Params: params, Observer: listening(sent)})
		if !open {
			opened <- err
		}
		if !open || isFinal(err) || life.Err() != nil || s.calling.Err() != nil {
			return
		}
		if time.Since(began) > maxBackoff {
			attempt = 1
		}
		if !pause(life, backoff(attempt)) {
			return
		}
	}
}

// isFinal reports whether a stream that ended so is not opened again: the server has refused it. A result
// says that the server ended it, as before it ends itself.
func isFinal(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return isAnswer(err) || ok && !status.Transient()
}

// listening observes a request for notifications. It is called when the server has the request.
type listening func()

func (l listening) Sending()                                        {}
func (l listening) Sent()                                           { l() }
func (l listening) Refused()                                        {}
func (l listening) Answered(context.Context, json.RawMessage) error { return nil }
func (l listening) Notified(string, json.RawMessage) bool           { return false }
func (l listening) Withdrawal(sent json.RawMessage) json.RawMessage { return sent }

// requestID returns an id as it stands in messages.
func requestID(id int64) json.RawMessage { return strconv.AppendInt(nil, id, 10) }
