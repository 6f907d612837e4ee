// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

// maxAnswer bounds one message of a server, in bytes.
const maxAnswer = oversize.Limit

var errAnswerTooLarge = errors.New("the server's answer is larger than 16 MiB")

// tap stands between the SDK's client and the network. On the answer to a
// request it sees, in the order in which the server wrote them, the
// notifications and the result. The SDK alone would lose three things: which
// request a notification belongs to, that it came before the result, and the
// fields of the result that the SDK does not know.
type tap struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	r = r.Clone(ctx)
	if w, ok := ctx.Value(wayKey{}).(way); ok {
		w.mark(r.Header, x)
	}
	if !ok {
		return t.next.RoundTrip(r)
	}
	if x.trace != "" {
		r.Header.Set(headerTrace, x.trace)
	}
	if r.Header.Get(headerMethod) == methodCallTool {
		maps.Copy(r.Header, x.header)
	}
	return t.deliver(r, x)
}

// deliver sends a request of an exchange and watches its answer.
func (t *tap) deliver(r *http.Request, x *exchange) (*http.Response, error) {
	// A GET only asks for the rest of an answer: its fate says nothing about
	// the request, which was delivered before.
	if r.Method != http.MethodPost {
		return t.watch(r, x)
	}
	x.sending()
	if !x.suffices {
		return t.watch(r, x)
	}
	x.number = numberOf(r)
	caller := r.Context()
	ctx, end := context.WithCancelCause(context.WithoutCancel(caller))
	last := &lasting{stop: context.AfterFunc(caller, func() { end(context.Cause(caller)) }), end: func() { end(errDone) }}
	resp, err := t.watch(r.WithContext(ctx), x)
	if err != nil {
		last.stop()
		last.end()
		return nil, err
	}
	return spare(r, resp, x, last), nil
}

// watch sends a request and has the exchange see the answer.
func (t *tap) watch(r *http.Request, x *exchange) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost && resp.StatusCode == http.StatusNotFound {
		x.refuse()
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		resp.Body = newEventBody(resp.Body, func(message []byte) []byte { return observe(message, x) })
	case "application/json":
		return tapJSON(resp, x)
	}
	return resp, nil
}

// tapJSON reads an answer that is one message.
func tapJSON(resp *http.Response, x *exchange) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		body, err = tooLarge(body, resp.Body)
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.ContentLength = -1
	resp.Body = io.NopCloser(bytes.NewReader(observe(body, x)))
	return resp, nil
}

// tooLarge reads the rest of an answer of which begun is the beginning, and
// returns the error that takes its place.
func tooLarge(begun []byte, rest io.Reader) ([]byte, error) {
	m := &oversize.Message{}
	_, _ = m.Write(begun)
	if _, err := io.Copy(m, rest); err != nil {
		return nil, err
	}
	if answer := m.Answer(); answer != nil {
		return answer, nil
	}
	return nil, errAnswerTooLarge
}

// observe shows one message to the exchange and returns what the SDK is to see
// instead: nothing of a notification that was passed on, and a request with a
// note of the exchange that it belongs to.
func observe(message []byte, x *exchange) []byte {
	if x.hears(message) {
		return message
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(message, &m) != nil {
		return message
	}
	switch {
	case m.Method == "" && m.Result != nil:
		x.answered(m.Result)
	case m.Method != "" && m.ID != nil:
		return x.tag(message)
	case m.Method == noteProgress || m.Method == noteMessage || m.Method == noteElicitDone:
		x.notify(m.Method, m.Params)
		return nil
	}
	return message
}

// eventBody is the body of an event stream, event by event.
type eventBody struct {
	src   io.ReadCloser
	lines *bufio.Reader
	// see returns what the SDK is to see instead of a message, nil for nothing.
	see  func(message []byte) []byte
	seen bool // whether there was a message
	out  []byte
	err  error
}

// newEventBody returns the body on which see looks at every message.
func newEventBody(src io.ReadCloser, see func([]byte) []byte) *eventBody {
	b := &eventBody{src: src, lines: bufio.NewReader(src)}
	b.see = func(message []byte) []byte {
		b.seen = b.seen || len(bytes.TrimSpace(message)) > 0
		return see(message)
	}
	return b
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.event()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.src.Close() }

// event reads up to the end of the next event and returns what the SDK is to
// see of it. To the SDK the end of the stream ends an event too, so such an
// event comes with io.EOF; one that the network broke off is none. Of an event
// that is too large the SDK sees an error for the request that it answers.
func (b *eventBody) event() ([]byte, error) {
	e := &event{}
	var end error
	for end == nil {
		var blank bool
		blank, end = b.line(e)
		if end != nil && !errors.Is(end, io.EOF) {
			return e.whole, end
		}
		if blank {
			break
		}
	}
	b.seen = b.seen || e.large != nil
	return e.shown(b.see), end
}

// line reads the next line into e, and reports whether it was the blank one that
// ends an event.
func (b *eventBody) line(e *event) (blank bool, err error) {
	length := 0
	for {
		part, err := b.lines.ReadSlice('\n')
		e.add(part, length == 0)
		if content := bytes.TrimRight(part, "\r\n"); len(content) > 0 {
			length += len(content)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			e.endLine()
			return length == 0 && err == nil, err
		}
	}
}

// event is an event of a stream while it is read.
type event struct {
	whole, data, rest []byte
	begun             int // where the line begins in whole
	// large reads the message instead of data once there is too much of it.
	large *oversize.Message
	skips bool // whether the line is one of a message that is too large
}

// add takes a part of a line.
func (e *event) add(part []byte, first bool) {
	if e.large == nil {
		e.whole = append(e.whole, part...)
		if len(e.whole) > maxAnswer {
			e.outgrow()
		}
		return
	}
	if first {
		e.skips = bytes.HasPrefix(part, []byte("data:"))
		part = bytes.TrimPrefix(part, []byte("data:"))
	}
	if e.skips {
		_, _ = e.large.Write(part)
	}
}

// outgrow stops keeping the event.
func (e *event) outgrow() {
	e.large = &oversize.Message{}
	_, _ = e.large.Write(e.data)
	line := e.whole[e.begun:]
	e.skips = bytes.HasPrefix(line, []byte("data:"))
	if e.skips {
		_, _ = e.large.Write(bytes.TrimPrefix(line, []byte("data:")))
	}
	e.whole, e.data = nil, nil
}

// endLine sorts the line that has ended.
func (e *event) endLine() {
	if e.large != nil {
		return
	}
	content := bytes.TrimRight(e.whole[e.begun:], "\r\n")
	e.begun = len(e.whole)
	if value, ok := bytes.CutPrefix(content, []byte("data:")); ok {
		e.data = append(append(e.data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
	} else if len(content) > 0 {
		e.rest = append(append(e.rest, content...), '\n')
	}
}

// shown returns what the SDK is to see of the event.
func (e *event) shown(see func([]byte) []byte) []byte {
	switch {
	case e.large != nil:
		if answer := e.large.Answer(); answer != nil {
			return fmt.Appendf(e.rest, "data: %s\n\n", answer)
		}
		return append(e.rest, '\n')
	case len(e.data) == 0:
		return e.whole
	}
	seen := see(e.data)
	switch {
	case seen == nil:
		// What remains may be the event's id, from which a broken stream
		// resumes.
		return append(e.rest, '\n')
	case &seen[0] != &e.data[0]:
		return fmt.Appendf(e.rest, "data: %s\n\n", seen)
	}
	return e.whole
}
