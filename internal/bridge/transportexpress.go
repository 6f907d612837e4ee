// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/plain"
)

// A call of a tool that is answered soon goes past the SDK's HTTP, which reads
// each message four times over: the call is handed to the session's connection,
// and its answer written as the SDK would write it. Where something else comes
// before the answer, or the answer takes its time, the same request is given to
// the SDK's HTTP after all, which has the stream for whatever comes then. The
// call itself goes on meanwhile, and is not made again.

const (
	// expressTime is how long the answer to an express call is waited for. What
	// takes longer does not gain by it.
	expressTime = 10 * time.Millisecond
	// firstPrimed is the first protocol version in which a stream begins with an
	// event from which it can be resumed.
	firstPrimed = "2025-11-25"
	// maxWidened is how many streams of a session are known under a second name.
	maxWidened = 64
)

// express is a call on its way past the SDK's HTTP.
type express struct {
	id      jsonrpc.ID
	stream  string               // the id of its event stream
	answer  chan jsonrpc.Message // of capacity 1
	wanted  chan struct{}        // closed when the SDK's stream is needed
	settled chan struct{}        // closed when there is that stream, or the answer is kept, or nothing to wait for

	mu               sync.Mutex
	asked            bool // whether wanted is closed
	over             bool // whether settled is closed
	widened, replied bool // where the answer goes or went: to the SDK's stream, or to answer
}

func newExpress(id jsonrpc.ID) *express {
	return &express{id: id, stream: rand.Text(), answer: make(chan jsonrpc.Message, 1), wanted: make(chan struct{}), settled: make(chan struct{})}
}

// widen has the answer go to the SDK's stream, and reports false where there is
// one already.
func (e *express) widen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.widened = !e.replied
	return e.widened
}

// take takes the answer, and reports false where it goes to the SDK's stream. Who
// asks for the rest of the stream waits until it is kept.
func (e *express) take(m jsonrpc.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.widened {
		return false
	}
	e.replied = true
	e.answer <- m
	return true
}

// arrive ends the waiting where the SDK's stream is there for the answer, and
// reports false where it is not.
func (e *express) arrive() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.widened {
		e.settleLocked()
	}
	return e.widened
}

// settle ends the waiting for the SDK's stream.
func (e *express) settle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settleLocked()
}

func (e *express) settleLocked() {
	if !e.over {
		e.over = true
		close(e.settled)
	}
}

// need has the SDK's stream opened and waits for it.
func (e *express) need(ctx context.Context) {
	e.mu.Lock()
	if !e.asked {
		e.asked = true
		close(e.wanted)
	}
	e.mu.Unlock()
	e.wait(ctx)
}

func (e *express) wait(ctx context.Context) {
	select {
	case <-e.settled:
	case <-ctx.Done():
	}
}

// express returns the call that a POST of the session is, nil where it is
// anything else, or anything about it is odd.
func (s *stay) express(r *http.Request, m plain.Message) *jsonrpc.Request {
	if s.bridge.options.thorough || !callsPlainly(m) || s.session.InitializeParams() == nil {
		return nil
	}
	if r.Header.Get(headerVersion) == "" || len(r.Header.Values(headerLastEventID)) > 0 {
		return nil
	}
	raw, ok := m.RequestID()
	id, err := jsonrpc.MakeID(raw)
	if !ok || err != nil {
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: methodCallTool, Params: m.Params, Extra: &mcp.RequestExtra{Header: r.Header}}
}

// callsPlainly reports whether the message calls a tool and says nothing by
// which the SDK's HTTP would do anything but pass it on: a protocol version is
// compared with the header, and an escape could hide one.
func callsPlainly(m plain.Message) bool {
	return string(m.Method) == `"`+methodCallTool+`"` && m.Result == nil &&
		len(m.Params) > 0 && m.Params[0] == '{' &&
		!bytes.Contains(m.Params, []byte("protocolVersion")) && !bytes.Contains(m.Params, []byte(`\u`))
}

// rush has the session answer a call. Where its id is in use, or the answer is
// not the next thing that there is, the SDK's HTTP takes the request.
func (s *stay) rush(w http.ResponseWriter, r *http.Request, call *jsonrpc.Request, events mcp.EventStore) {
	e := newExpress(call.ID)
	s.bridge.policies.records.find(r.Header.Get(headerRecord)).accompany(e)
	if !s.conn.admit(e) {
		e.settle() // It is no express call, and has no other stream to wait for.
		s.conn.widen(r.Context())
		s.converse(w, r)
		return
	}
	defer s.conn.dismiss(e)
	a := &expressAnswer{ResponseWriter: w, stay: s, express: e, events: events}
	a.begin(r)
	if !s.conn.hand(e, call) {
		return // The session has ended, and the answer has begun.
	}
	timer := time.NewTimer(expressTime)
	defer timer.Stop()
	select {
	case m := <-e.answer:
		a.end(r, m)
		return
	case <-e.wanted:
	case <-timer.C:
	case <-r.Context().Done():
	case <-s.conn.closed:
	}
	if !e.widen() {
		a.end(r, <-e.answer)
		return
	}
	s.converse(a, r)
}

// expressAnswer is the answer to an express call: an event stream like those of
// the SDK, which can be resumed like these.
type expressAnswer struct {
	http.ResponseWriter
	stay    *stay
	express *express
	events  mcp.EventStore
	next    int // the number of the next event
}

// Unwrap serves http.ResponseController.
func (a *expressAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter. What the SDK begins its stream with was
// written before, with the name of this stream.
func (a *expressAnswer) Write(p []byte) (int, error) {
	if rest, ok := bytes.CutPrefix(p, []byte("event: prime\nid: ")); ok && a.next > 0 {
		stream, _, _ := bytes.Cut(rest, []byte("_"))
		a.stay.conn.rename(a.express.stream, string(stream))
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// begin writes what comes before all messages.
func (a *expressAnswer) begin(r *http.Request) {
	header := a.Header()
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("Content-Type", "text/event-stream")
	header.Set("Connection", "keep-alive")
	_ = a.events.Open(r.Context(), a.stay.id, a.express.stream)
	if r.Header.Get(headerVersion) >= firstPrimed {
		a.event(r, "prime", nil)
	}
}

// end writes the answer.
func (a *expressAnswer) end(r *http.Request, m jsonrpc.Message) {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return // The SDK would not write it either.
	}
	a.event(r, "message", data)
}

// event keeps an event for a client that loses it, and writes it. That there is
// nobody who reads it does not matter here.
func (a *expressAnswer) event(r *http.Request, name string, data []byte) {
	_ = a.events.Append(r.Context(), a.stay.id, a.express.stream, data)
	if data != nil {
		a.express.settle() // Whoever asks for the answer now finds it.
	}
	event := make([]byte, 0, len(data)+96)
	event = fmt.Appendf(event, "event: %s\nid: %s_%d\ndata: ", name, a.express.stream, a.next)
	event = append(append(event, data...), "\n\n"...)
	a.next++
	_, _ = a.ResponseWriter.Write(event)
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// admit notes an express call. It reports false where a call with the same id is
// in progress.
func (c *askingConn) admit(e *express) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.calls[e.id]; taken {
		return false
	}
	c.calls[e.id] = e
	c.rushes = append(c.rushes, e)
	return true
}

// dismiss forgets an express call whose request is answered. Its id may have been
// free for long.
func (c *askingConn) dismiss(e *express) {
	e.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rushes = slices.DeleteFunc(c.rushes, func(other *express) bool { return other == e })
}

// hand hands a call to the session, and reports false where that has ended.
func (c *askingConn) hand(e *express, call *jsonrpc.Request) bool {
	select {
	case c.incoming <- arrival{message: call}:
		return true
	case <-c.closed:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, e.id)
	return false
}

// widen has the SDK's HTTP know of all calls that are in progress.
func (c *askingConn) widen(ctx context.Context) {
	c.mu.Lock()
	rushes := slices.Clone(c.rushes)
	c.mu.Unlock()
	for _, e := range rushes {
		e.need(ctx)
	}
}

// listen reads what comes over the SDK's HTTP. Of the express calls among it the
// session knows.
func (c *askingConn) listen(ctx context.Context) {
	for {
		m, err := c.Connection.Read(ctx)
		if request, ok := m.(*jsonrpc.Request); ok && err == nil && request.IsCall() && c.enter(request.ID) {
			continue
		}
		select {
		case c.incoming <- arrival{m, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// enter notes a call that came over the SDK's HTTP, and reports whether it is an
// express one that goes there now. Another one with the id of an express call is
// none: the SDK says what is wrong with it.
func (c *askingConn) enter(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.calls[id]
	if e == nil {
		c.calls[id] = nil
		return false
	}
	return e.arrive()
}

// leave takes the answer to an express call, and reports false for an answer
// that the SDK's HTTP must have. Whoever has seen an answer may use its id for
// another call, so that the id is free before.
func (c *askingConn) leave(ctx context.Context, m *jsonrpc.Response) bool {
	c.mu.Lock()
	e := c.calls[m.ID]
	taken := e != nil && e.take(m)
	if taken || e == nil {
		delete(c.calls, m.ID)
	}
	c.mu.Unlock()
	if taken || e == nil {
		return taken
	}
	e.wait(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, m.ID)
	return false
}

// renamed is a stream that goes on as one of the SDK's.
type renamed struct{ express, sdk string }

// rename notes that an express call's stream goes on as one of the SDK's.
func (c *askingConn) rename(express, sdk string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.renamed) == maxWidened {
		c.renamed = slices.Delete(c.renamed, 0, 1)
	}
	c.renamed = append(c.renamed, renamed{express, sdk})
}

// current returns the id of an event by which the SDK's HTTP knows it. The call
// to which it belongs need not have come there yet.
func (c *askingConn) current(ctx context.Context, event string) string {
	c.widen(ctx)
	stream, number, _ := strings.Cut(event, "_")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.renamed {
		if r.express == stream {
			return r.sdk + "_" + number
		}
	}
	return event
}
