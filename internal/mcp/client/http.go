// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// The headers of streamable HTTP.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSessionID   = "Mcp-Session-Id"
	headerLastEventID = "Last-Event-ID"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
)

// HTTP is a server over streamable HTTP.
type HTTP struct {
	URL    string
	Client *http.Client
	// Header is that of each request.
	Header http.Header
	// NoListening says that the client opens no stream for what belongs to no request, in the versions with
	// sessions.
	NoListening bool
}

// Dial connects to a server over streamable HTTP. ctx limits the attempt, not the connection.
func (h HTTP) Dial(ctx context.Context, o Options) (*Session, error) {
	s := newSession(ctx, o)
	s.wire = &httpWire{HTTP: h, session: s}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// httpWire is a wire over streamable HTTP.
type httpWire struct {
	HTTP
	session *Session

	mu        sync.Mutex
	sessionID string
	deleted   bool // whether the server was told that the session has ended
}

// errNoAnswer says that the server ended a stream that cannot be resumed.
var errNoAnswer = errors.New("the server ended its answer before the result")

// call implements wire.
func (w *httpWire) call(ctx context.Context, q *Request, id int64) (json.RawMessage, error) {
	own := requestID(id)
	if q.Observer != nil {
		q.Observer.Sending()
	}
	sent, outlast, end := during(ctx, w.session.calling)
	resp, err := w.post(ctx, sent, q, rpc.Parts(own, q.Method, q.Params)...)
	if err != nil {
		end()
		return nil, err
	}
	if err := w.check(resp, q, own); err != nil {
		end()
		return nil, err
	}
	if q.Observer != nil {
		q.Observer.Sent()
	}
	x := &exchange{wire: w, request: q, id: own, outlast: outlast, end: end, ctx: sent}
	switch mediaType := mediaTypeOf(resp.Header); mediaType {
	case "application/json":
		err = x.readJSON(resp)
	case "text/event-stream":
		err = x.follow(resp)
	default:
		_ = resp.Body.Close()
		err = rpc.InvalidAnswer(fmt.Sprintf("it is of the media type %.80q", mediaType))
	}
	if err == nil {
		return x.answer.Result, x.deliver()
	}
	end()
	return nil, err
}

// during returns a context for HTTP requests. It ends with ctx, unless outlast was called, and with until.
func during(ctx, until context.Context) (during context.Context, outlast, end func()) {
	during, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	over := context.AfterFunc(until, func() { cancel(ErrClosed) })
	return during, func() { stop() }, func() {
		stop()
		over()
		cancel(nil)
	}
}

// post sends a message of one or more parts in the context ctx, for whoever waits in the context asked.
func (w *httpWire) post(asked, ctx context.Context, q *Request, parts ...[]byte) (*http.Response, error) {
	if w.session.life.Err() != nil {
		return nil, w.session.ended()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bodyOf(parts))
	if err != nil {
		return nil, err
	}
	r.GetBody = func() (io.ReadCloser, error) { return bodyOf(parts), nil }
	for _, part := range parts {
		r.ContentLength += int64(len(part))
	}
	w.mark(r.Header)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.session.Modern() && q.Method != "" {
		r.Header.Set(headerMethod, q.Method)
		if m := methods.Of(q.Method); m.Named() {
			r.Header.Set(headerName, textMember(q.Params, m.Names.Member()))
		}
	}
	maps.Copy(r.Header, q.Header)
	send := w.Client.Do
	if methods.Of(q.Method).Introduces {
		send = w.introduce
	}
	resp, err := w.sendAgain(ctx, asked, r, methods.Of(q.Method).Opening, send)
	if err != nil {
		return nil, fmt.Errorf("send %q: %w", cmp.Or(q.Method, "answer"), err)
	}
	return resp, nil
}

// introduce sends the first request. A server may begin a session for it after the client has left. So the
// answer is awaited in the background then, for deleteTime, and the session is ended.
func (w *httpWire) introduce(r *http.Request) (*http.Response, error) {
	asked := r.Context()
	ctx, end := context.WithCancel(context.WithoutCancel(asked))
	type outcome struct {
		resp *http.Response
		err  error
	}
	sent := make(chan outcome, 1)
	go func() {
		resp, err := w.Client.Do(r.WithContext(ctx)) //nolint:bodyclose // Both ways below close it.
		sent <- outcome{resp, err}
	}()
	select {
	case o := <-sent:
		if o.err != nil {
			end()
			return nil, o.err
		}
		context.AfterFunc(asked, end)
		o.resp.Body = &endingBody{o.resp.Body, end}
		return o.resp, nil
	case <-asked.Done():
		go func() { //nolint:contextcheck // What is left to do outlasts who asked.
			defer end()
			late := time.AfterFunc(deleteTime, end)
			defer late.Stop()
			if o := <-sent; o.err == nil {
				_ = o.resp.Body.Close()
				w.keep(o.resp.Header.Get(headerSessionID))
				w.close()
			}
		}()
		return nil, context.Cause(asked)
	}
}

// keep keeps the id of the session that a server gives, empty for none, and returns the one that counts.
func (w *httpWire) keep(given string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessionID = cmp.Or(w.sessionID, given)
	return w.sessionID
}

// bodyOf returns a body of these parts, which are not copied. net/http sends one part together with the
// header, which it cannot do with several.
func bodyOf(parts [][]byte) io.ReadCloser {
	if len(parts) == 1 {
		return io.NopCloser(bytes.NewReader(parts[0]))
	}
	readers := make([]io.Reader, len(parts))
	for i, part := range parts {
		readers[i] = bytes.NewReader(part)
	}
	return io.NopCloser(io.MultiReader(readers...))
}

// mark sets the headers that each request has.
func (w *httpWire) mark(header http.Header) {
	maps.Copy(header, w.Header)
	if version := w.session.version(); version != "" {
		header.Set(headerVersion, version)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessionID != "" {
		header.Set(headerSessionID, w.sessionID)
	}
}

// textMember returns a member of an object that is a text, empty for none.
func textMember(object []byte, member string) string {
	r := jsonscan.Open(object)
	defer r.Close()
	for name := range r.Members() {
		if string(name) == member {
			return r.Text()
		}
	}
	return ""
}

// check returns the error of an answer by its status, and keeps the id of the session. It closes the
// body then.
func (w *httpWire) check(resp *http.Response, q *Request, id json.RawMessage) error {
	if !succeeded(resp) {
		return w.refused(resp, q, id)
	}
	given := resp.Header.Get(headerSessionID)
	if given != "" && w.keep(given) != given {
		_ = resp.Body.Close()
		err := errors.New("the server answered with the id of another session")
		w.session.fail(err)
		return err
	}
	return nil
}

// send implements wire.
func (w *httpWire) send(ctx, until context.Context, method string, text []byte) error {
	sent, _, end := during(ctx, until)
	defer end()
	q := &Request{Method: method}
	resp, err := w.post(ctx, sent, q, text)
	if err != nil {
		return err
	}
	if err := w.check(resp, q, nil); err != nil {
		return err
	}
	return resp.Body.Close()
}

// begin implements wire.
func (w *httpWire) begin(ctx context.Context) error {
	if w.NoListening || w.session.Modern() {
		return nil
	}
	resp, err := w.get(ctx, w.session.life, "") //nolint:bodyclose // follow closes it.
	switch {
	case errors.Is(err, errNoStream):
		return nil
	case err != nil:
		return err
	case mediaTypeOf(resp.Header) != "text/event-stream", resp.StatusCode >= 400 && resp.StatusCode < 500:
		// The stream is optional. Some servers refuse it by another status than 405.
		return resp.Body.Close()
	case resp.StatusCode != http.StatusOK:
		_ = resp.Body.Close()
		return &StatusError{Status: resp.StatusCode}
	}
	x := &exchange{wire: w, ctx: w.session.life, end: func() {}}
	go func() {
		if err := x.follow(resp); err != nil && w.session.life.Err() == nil {
			w.session.drain(err) // The server may answer what is in flight.
		}
	}()
	return nil
}

// streamPatience limits the time until a server starts its event stream. Some gateways hold back the
// stream's headers until the first event, which would block the connection for ever.
const streamPatience = 5 * time.Second

// errNoStream says that a stream did not begin in time.
var errNoStream = errors.New("the server's stream did not begin in time")

// get opens a stream, or resumes it behind the event of the id last. The stream ends with life; ctx limits
// the wait for its beginning.
func (w *httpWire) get(ctx, life context.Context, last string) (*http.Response, error) {
	during, end := context.WithCancel(life)
	stop := context.AfterFunc(ctx, end)
	r, err := http.NewRequestWithContext(during, http.MethodGet, w.URL, http.NoBody)
	if err != nil {
		end()
		return nil, err
	}
	w.mark(r.Header)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set(headerLastEventID, last)
	}
	send := func(r *http.Request) (*http.Response, error) {
		late := time.AfterFunc(streamPatience, end)
		resp, err := w.Client.Do(r)
		if !late.Stop() && err != nil && life.Err() == nil {
			err = errNoStream
		}
		return resp, err
	}
	resp, err := w.sendAgain(during, ctx, r, true, send)
	if err != nil {
		end()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	stop()
	resp.Body = &endingBody{resp.Body, end}
	return resp, nil
}

// endingBody is a body whose request ends with it.
type endingBody struct {
	io.ReadCloser
	end context.CancelFunc
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// deleteTime bounds the request that ends a session.
const deleteTime = 10 * time.Second

// close implements wire.
func (w *httpWire) close() {
	w.mu.Lock()
	begun := w.sessionID != "" && !w.deleted
	w.deleted = begun || w.deleted
	w.mu.Unlock()
	if !begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.session.life), deleteTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.URL, http.NoBody)
	if err != nil {
		return
	}
	w.mark(r.Header)
	if resp, err := w.Client.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// mediaTypeOf returns the media type of an answer, empty if the header does not say it.
func mediaTypeOf(header http.Header) string {
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return mediaType
}

// succeeded reports whether the status of an answer is one of success.
func succeeded(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode < 300 }

// exchange reads what comes of one request, or of the stream for what belongs to none.
type exchange struct {
	wire    *httpWire
	request *Request        // nil for the stream of no request
	id      json.RawMessage // of the request
	ctx     context.Context //nolint:containedctx // It is that of the HTTP requests of one call.
	// outlast lets the HTTP request outlast the call, and end ends it.
	outlast, end func()

	messages int // that have come
	answer   rpc.Message
	found    bool
	body     io.ReadCloser // what is left to read behind the answer, nil for nothing
}

// observer returns the observer of the request, or nil.
func (x *exchange) observer() Observer {
	if x.request == nil {
		return nil
	}
	return x.request.Observer
}

// most returns the most bytes of a message.
func (x *exchange) most() int {
	if x.request == nil || x.request.most == 0 {
		return eventstream.MaxMessage
	}
	return x.request.most
}

// restTime bounds the wait for the end of a stream behind the answer. A connection whose stream has ended
// can be used again.
const restTime = 250 * time.Millisecond

// deliver gives the result to the observer, and ends the HTTP request.
func (x *exchange) deliver() error {
	failure := x.answer.Failure()
	result := x.answer.Result
	if failure != nil {
		result = nil
	}
	var refused error
	if o := x.observer(); o != nil {
		refused = o.Answered(x.ctx, result)
	}
	if x.body == nil {
		x.end()
	} else {
		x.outlast()
		go func() {
			late := time.AfterFunc(restTime, x.end)
			_, _ = io.Copy(io.Discard, x.body)
			late.Stop()
			_ = x.body.Close()
			x.end()
		}()
	}
	if failure != nil {
		return failure
	}
	return refused
}

// take handles the messages in an event. It returns an error if they hold no valid answer where the answer
// must be.
func (x *exchange) take(text []byte) error {
	if each, ok := rpc.Batch(text); ok {
		return x.takeEach(each)
	}
	m, ok := rpc.Read(text)
	if !ok {
		return x.invalid("it is no JSON object")
	}
	return x.one(m)
}

// takeEach is take for the messages of an array.
func (x *exchange) takeEach(each []json.RawMessage) error {
	if len(each) == 0 {
		return x.invalid("it is an empty array")
	}
	all := make([]rpc.Message, len(each))
	for i, one := range each {
		var ok bool
		if all[i], ok = rpc.Read(one); !ok {
			return x.invalid("it is an array with a member that is no object")
		}
	}
	// One message in an array is read in each version: servers that were made for batches send it so.
	if version := x.wire.session.version(); len(each) > 1 && version != "" && version != batchVersion {
		return x.invalid(fmt.Sprintf("it is an array of %d messages, which version %s of the protocol does not have: send each by itself", len(each), version))
	}
	for _, m := range all {
		if err := x.one(m); err != nil {
			return err
		}
	}
	return nil
}

// batchVersion is the only version of the protocol with batches.
const batchVersion = "2025-03-26"

// invalid returns the error of an answer that is not valid. The stream for what belongs to no request has
// no answers, so that it returns nil there.
func (x *exchange) invalid(fault string) error {
	if x.request == nil {
		return nil
	}
	return rpc.InvalidAnswer(fault)
}

// one handles a message.
func (x *exchange) one(m rpc.Message) error {
	s := x.wire.session
	switch {
	case m.Request && m.ID != nil:
		s.options.Receiver.Asked(x.ctx, s, x.observer(), m)
	case m.Request:
		if o := x.observer(); o == nil || !o.Notified(m.Method, m.Params) {
			s.options.Receiver.Notified(x.ctx, x.observer(), m)
		}
	case x.request == nil || x.found:
	case m.FaultFor(x.id) != "":
		return rpc.InvalidAnswer(m.FaultFor(x.id))
	default:
		x.answer, x.found = m, true
	}
	return nil
}
