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
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
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
	// Asked are the messages of the server on the connection.
	Asked *Asked
	// Memory is for the messages that belong to no call.
	Memory *budget.Budget
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
		if t.Asked == nil {
			return t.Next.RoundTrip(r) // A connection with one stream is observed behind the SDK's transport.
		}
		if id := answeredBy(r); id != "" {
			defer t.Asked.Leave(id)
		}
		return t.watch(r, nil)
	}
	if x.Trace != "" {
		r.Header.Set(message.HeaderTrace, x.Trace)
	}
	if r.Header.Get(message.HeaderMethod) == message.MethodCallTool {
		maps.Copy(r.Header, x.Header)
	}
	return t.deliver(r, x)
}

// deliver sends the request of a call and observes its answer.
func (t *HTTPObserver) deliver(r *http.Request, x *Call) (*http.Response, error) {
	// A GET only asks for the rest of an answer. Its outcome says nothing about the request, which
	// was delivered before.
	if r.Method != http.MethodPost {
		return t.watch(r, x)
	}
	x.Delivery.Sending()
	ctx, end := outlast(r.Context(), x)
	resp, err := t.watch(r.WithContext(ctx), x)
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &egress.CancelledBody{ReadCloser: resp.Body, Cancel: end} // The SDK reads to the end before it closes a body.
	return resp, nil
}

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

// watch sends a request and passes the answer to the call, which is nil for a request without one.
func (t *HTTPObserver) watch(r *http.Request, x *Call) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if x != nil && r.Method == http.MethodPost && resp.StatusCode == http.StatusNotFound {
		x.Delivery.refuse()
	}
	if resp.StatusCode != http.StatusOK {
		// The SDK reads an error to its end, and looks for a JSON-RPC error in it.
		resp.Body = &boundedBody{resp.Body, io.LimitReader(resp.Body, maxErrorBody)}
		return resp, nil
	}
	if x != nil {
		x.Delivery.Memory.Sent()
	}
	most := eventstream.MaxMessage
	if limit, ok := r.Context().Value(MaxAnswerKey{}).(int); ok {
		most = limit
	}
	o, end := roomOf(r.Context(), x, t.Memory, resp.Body)
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		see := func(sent []byte) []byte { return observe(r.Context(), sent, x, t.Asked) }
		resp.Body = eventstream.NewBoundedReader(resp.Body, see, most, o)
		if x == nil {
			resp.Body = &egress.CancelledBody{ReadCloser: resp.Body, Cancel: end}
		}
	case "application/json":
		defer end()
		body, err := readJSON(resp, most, o)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.ContentLength = -1
		resp.Body = io.NopCloser(bytes.NewReader(observe(r.Context(), body, x, t.Asked)))
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

// observe passes one message to the call and returns the message for the SDK: nothing for a
// notification that was passed on, and a request with the serial of its call.
func observe(ctx context.Context, sent []byte, x *Call, asked *Asked) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(sent, &m) != nil {
		return sent
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return asking(ctx, sent, textOf(m.ID), m.Method, x, asked)
	case m.Method != "" && !x.notified(m.Method, m.Params):
		if !asked.EnterNote(ctx, m.Method, len(sent)) {
			return nil
		}
	case m.Method != "":
		return nil
	case m.Result != nil && x != nil:
		x.Delivery.SetResult(m.Result)
		if len(sent) > largeAnswer && !x.Delivery.Typed {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	}
	return sent
}

// notified passes a notification to its call. It returns false if the SDK has to handle it.
func (x *Call) notified(method string, params json.RawMessage) bool {
	if x == nil {
		return false
	}
	switch method {
	case message.NotificationProgress, message.NotificationMessage, message.NotificationElicitationComplete:
		x.Notify(method, params)
		return true
	}
	return false
}

// asking returns a request of the server as the SDK gets it, nil for nothing.
func asking(ctx context.Context, sent []byte, id, method string, x *Call, asked *Asked) []byte {
	refused, err := asked.Enter(ctx, id, method)
	switch {
	case err != nil:
		return nil
	case refused:
		return tag(sent, RefusedExchange)
	case x == nil:
		return sent
	}
	return tag(sent, x.Serial)
}

// NewClient returns the HTTP client of one server's connections.
func NewClient(next http.RoundTripper, asked *Asked, memory *budget.Budget) *http.Client {
	return &http.Client{Transport: &HTTPObserver{Next: next, Asked: asked, Memory: memory}, CheckRedirect: egress.CheckRedirect}
}
