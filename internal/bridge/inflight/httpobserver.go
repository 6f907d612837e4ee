// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// largeAnswer is the size in bytes from which an answer does not go through the SDK.
const largeAnswer = 64 << 10

var errAnswerTooLarge = errors.New("the server's answer is larger than 16 MiB")

// HTTPObserver stands between the SDK's client and the network. It reads the notifications and the
// result in the answer to a request, in the order of the server. The SDK alone would lose three
// things: which request a notification belongs to, that the notification came before the result,
// and the fields of the result that the SDK does not know.
type HTTPObserver struct {
	Next http.RoundTripper
	// OneStream says that all messages come on one stream, whose reader finds the calls that they
	// belong to. Only invalid answers are replaced here.
	OneStream bool
	// Questions are those of the server on this connection.
	Questions *Questions
	// Asked bounds the messages of the server on this connection. With one stream, its reader bounds
	// them.
	Asked *Asked
	// Memory is for the messages that belong to no call.
	Memory *budget.Budget
	// OpenBy is when the connection must be open, zero for no limit.
	OpenBy time.Time
}

// RoundTrip implements http.RoundTripper.
func (t *HTTPObserver) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	x, ok := ctx.Value(CallKey{}).(*Call)
	r = r.Clone(ctx)
	if w, ok := ctx.Value(BridgePathKey{}).(BridgePath); ok {
		w.mark(r.Header, x)
	}
	if !ok {
		id, request := idOf(r)
		if id != nil && !request {
			if t.Asked != nil {
				defer t.Asked.Leave(textOf(id))
			}
			if t.Questions.Answered(id) {
				return accepted(r), nil
			}
		}
		if !request {
			id, r = nil, showIDs(r)
		}
		return t.watch(r, nil, id)
	}
	if x.Trace != "" {
		r.Header.Set(message.HeaderTrace, x.Trace)
	}
	if r.Header.Get(message.HeaderMethod) == x.Method {
		maps.Copy(r.Header, x.Header)
	}
	return t.deliver(r, x)
}

// deliver sends the request of a call and observes its answer.
func (t *HTTPObserver) deliver(r *http.Request, x *Call) (*http.Response, error) {
	// A GET only asks for the rest of an answer. Its outcome says nothing about the request, which
	// was delivered before.
	if r.Method != http.MethodPost {
		return t.watch(r, x, x.Delivery.requestID())
	}
	id := requestID(r)
	if id == nil {
		return t.watch(mergeWithdrawal(r, x), x, nil)
	}
	x.Delivery.Sending()
	x.Delivery.setRequestID(id)
	ctx, end := outlast(r.Context(), x)
	resp, err := t.watch(r.WithContext(ctx), x, id)
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &egress.CancelledBody{ReadCloser: resp.Body, Cancel: end} // The SDK reads to the end before it closes a body.
	return resp, nil
}

// mergeWithdrawal returns the notification that cancels the call x in the client's words. Other
// messages stay.
func mergeWithdrawal(r *http.Request, x *Call) *http.Request {
	if x.Delivery.Withdrawn == nil || r.GetBody == nil || r.ContentLength > maxWithdrawal {
		return r
	}
	body, err := r.GetBody()
	if err != nil {
		return r
	}
	text, err := io.ReadAll(body)
	_ = body.Close()
	m, ok := message.ReadIncoming(text)
	if err != nil || !ok || m.Method != methods.Cancelled {
		return r
	}
	merged, err := message.WithField(text, "params", x.Delivery.Withdrawn.Merge(m.Params))
	if err != nil {
		return r
	}
	setBody(r, merged)
	return r
}

// maxWithdrawal is more than the length in bytes of the SDK's notification, which has an id and a
// short reason.
const maxWithdrawal = 4 << 10

// restTime limits the wait for the end of a stream after the answer.
const restTime = 250 * time.Millisecond

// outlast returns a context for the request of x. It ends with the call, whose context is caller,
// but later if the answer has arrived: a connection cannot be reused if its request is cancelled
// before the end of its stream.
func outlast(caller context.Context, x *Call) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(caller))
	stop := context.AfterFunc(caller, func() {
		if x.Delivery.Result() != nil {
			time.AfterFunc(restTime, func() { cancel(egress.ErrDone) })
			return
		}
		cancel(context.Cause(caller))
	})
	return ctx, func() {
		stop()
		cancel(egress.ErrDone)
	}
}

// watch sends a request and passes the answer to the call x, which may be nil. id is that of the
// request, nil if no answer is expected.
func (t *HTTPObserver) watch(r *http.Request, x *Call, id json.RawMessage) (*http.Response, error) {
	resp, err := t.send(r, x)
	if err != nil {
		return nil, err
	}
	resp = t.observeRefusal(r, resp, x, id)
	if t.OneStream {
		return t.watchStream(r, resp), nil
	}
	if resp.StatusCode != http.StatusOK {
		// The SDK reads an error to its end, and looks for a JSON-RPC error in it.
		resp.Body = &boundedBody{resp.Body, io.LimitReader(resp.Body, maxErrorBody)}
		return resp, nil
	}
	if x != nil {
		x.Delivery.Memory.Sent()
	}
	return t.watchAnswer(r, resp, x, id)
}

// watchAnswer passes the messages of an answer to the call.
func (t *HTTPObserver) watchAnswer(r *http.Request, resp *http.Response, x *Call, id json.RawMessage) (*http.Response, error) {
	ctx := r.Context()
	most := eventstream.MaxMessage
	if limit, ok := ctx.Value(MaxAnswerKey{}).(int); ok {
		most = limit
	}
	version := r.Header.Get(message.HeaderVersion)
	o, end := roomOf(ctx, x, t.Memory, resp.Body)
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		see := func(sent []byte) []byte { return t.observeText(ctx, sent, version, x, id) }
		resp.Body = eventstream.NewBoundedReader(resp.Body, see, most, o)
		if x == nil {
			resp.Body = &egress.CancelledBody{ReadCloser: resp.Body, Cancel: end}
		}
	case "application/json":
		defer end()
		if id != nil {
			body, err := readJSON(resp, most, o)
			_ = resp.Body.Close()
			if err != nil {
				return nil, err
			}
			t.answerJSON(r, resp, body, x, id)
		}
	}
	return resp, nil
}

// MaxAnswerKey is the context key of the size in bytes up to which a request's answer is read, as
// an int.
type MaxAnswerKey struct{}

// maxErrorBody bounds the body of an HTTP error.
const maxErrorBody = 1 << 20

// boundedBody is a body of which only a part is read.
type boundedBody struct {
	io.Closer
	io.Reader
}

// accepted answers for a server that is not sent anything.
func accepted(r *http.Request) *http.Response {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

// watchStream replaces the invalid answers on the one stream of a server. The answer to a POST holds
// no message.
func (t *HTTPObserver) watchStream(r *http.Request, resp *http.Response) *http.Response {
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType != "text/event-stream" || r.Method != http.MethodGet {
		return resp
	}
	resp.Body = eventstream.NewReader(resp.Body, func(sent []byte) []byte {
		each, ok := message.BatchOf(sent)
		if !ok {
			return validated(sent)
		}
		if fault := batchFault(each, ""); fault != "" {
			return message.InvalidAnswerTo(nil, fault)
		}
		seen := make([][]byte, len(each))
		for i, one := range each {
			seen[i] = validated(one)
		}
		return bytes.Join(seen, []byte(between))
	})
	return resp
}

// validated returns a message of a single stream for the SDK: an error for an invalid answer.
func validated(sent []byte) []byte {
	if m, ok := message.ReadIncoming(sent); ok && m.Fault != "" {
		return message.InvalidAnswerTo(m.ID, m.Fault)
	}
	return message.KeepIDs(sent)
}

// showIDs returns a POST with the ids of the server's requests as the server sent them.
func showIDs(r *http.Request) *http.Request {
	if r.Method != http.MethodPost || r.Body == nil {
		return r
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err == nil {
		body = message.ShowIDs(body)
	}
	setBody(r, body)
	return r
}

// setBody replaces the body of a request, which can be sent again.
func setBody(r *http.Request, body []byte) {
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
}

// requestID returns the id of the JSON-RPC request that r sends, or nil.
func requestID(r *http.Request) json.RawMessage {
	if id, request := idOf(r); request {
		return id
	}
	return nil
}

// idOf returns the id of the message that r sends, nil for a notification, and whether the message
// is a request. Both stand at the beginning of the body, before the parameters.
func idOf(r *http.Request) (id json.RawMessage, request bool) {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	defer body.Close()
	var start [idWithin]byte
	n, _ := io.ReadFull(body, start[:]) // The body may be shorter.
	scan := jsonscan.Open(start[:n])
	defer scan.Close()
	for name := range scan.Members() {
		switch string(name) {
		case "id":
			id = slices.Clone(scan.Raw())
		case "jsonrpc":
		default:
			return id, id != nil && string(name) == "method"
		}
	}
	return nil, false
}

// idWithin is more than the length in bytes of a version and an id of the SDK, which are numbers.
const idWithin = 256

// answerJSON replaces the body of an answer that is one message, or a batch, which becomes a stream of
// events. Nothing follows that could be the answer.
func (t *HTTPObserver) answerJSON(r *http.Request, resp *http.Response, body []byte, x *Call, id json.RawMessage) {
	each, batch := message.BatchOf(body)
	if m, ok := message.ReadIncoming(body); ok && m.Request {
		body = message.InvalidAnswerTo(id, m.FaultFor(id))
	} else if len(each) > 0 && !hasAnswer(each) {
		body = message.InvalidAnswerTo(id, "it is an array without an answer")
	}
	seen := t.observeText(r.Context(), body, r.Header.Get(message.HeaderVersion), x, id)
	if batch && len(each) > 1 {
		resp.Header.Set("Content-Type", "text/event-stream")
		seen = fmt.Appendf(nil, "data: %s\n\n", seen)
	}
	resp.ContentLength = -1
	resp.Body = io.NopCloser(bytes.NewReader(seen))
}

// observe passes one message to the call x, which may be nil, and returns the message for the SDK:
// nothing for a notification that was passed on, a packed message that clients get, and an error in
// place of an answer that is not valid. id is that of the request, nil for a stream of no request.
func (t *HTTPObserver) observe(ctx context.Context, sent []byte, x *Call, id json.RawMessage) []byte {
	m, ok := message.ReadIncoming(sent)
	switch {
	case !ok:
		return sent
	case m.Request:
		return t.observeRequest(ctx, sent, x)
	case m.Fault != "" || id != nil && m.FaultFor(id) != "":
		if id == nil {
			return message.InvalidAnswerTo(m.ID, m.Fault)
		}
		return message.InvalidAnswerTo(id, m.FaultFor(id))
	case x == nil:
	case m.Failed:
		x.Delivery.SetFailed()
	default:
		x.Delivery.SetResult(m.Result)
		if len(sent) > largeAnswer {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	}
	return sent
}

// observeRequest handles a request or notification of the server.
func (t *HTTPObserver) observeRequest(ctx context.Context, sent []byte, x *Call) []byte {
	sent = message.KeepIDs(sent)
	m, _ := message.ReadIncoming(sent)
	if m.Method == methods.Cancelled {
		t.Questions.Withdraw(m.Params)
	}
	call := ""
	if x != nil {
		call = x.Serial
	}
	if m.ID == nil {
		if x.notified(m.Method, m.Params) || !t.Asked.EnterNote(ctx, m.Method, len(sent)) {
			return nil
		}
	} else {
		refused, err := t.Asked.Enter(ctx, textOf(m.ID), m.Method)
		if err != nil {
			return nil
		}
		if refused {
			call = RefusedExchange
		}
	}
	if !methods.Of(m.Method).ToClients() {
		return sent
	}
	if m.ID != nil {
		t.Questions.Asked(m.ID)
	}
	packed, err := message.WithField(sent, "params", message.Pack(m.Params, call, m.ID))
	if err != nil {
		return sent
	}
	return packed
}

// notified passes a notification to its call. It returns false if the SDK has to handle it.
func (x *Call) notified(method string, params json.RawMessage) bool {
	if x == nil || !methods.Of(method).OfCall {
		return false
	}
	x.Notify(method, params)
	return true
}
