// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

var errAnswerTooLarge = errors.New("the server's answer is larger than 16 MiB")

// HTTPObserver stands between the SDK's client and the network. It reads the notifications and the
// result in the answer to a request, in the order of the server. The SDK alone would lose three
// things: which request a notification belongs to, that the notification came before the result,
// and the fields of the result that the SDK does not know.
type HTTPObserver struct {
	Next http.RoundTripper
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
		return t.Next.RoundTrip(r)
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

// watch sends a request and passes the answer to the call.
func (t *HTTPObserver) watch(r *http.Request, x *Call) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost && resp.StatusCode == http.StatusNotFound {
		x.Delivery.refuse()
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		resp.Body = eventstream.NewReader(resp.Body, func(sent []byte) []byte { return observe(sent, x) })
	case "application/json":
		return tapJSON(resp, x)
	}
	return resp, nil
}

// tapJSON reads an answer that is one message.
func tapJSON(resp *http.Response, x *Call) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, eventstream.MaxMessage+1))
	if err == nil && len(body) > eventstream.MaxMessage {
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

// tooLarge reads the rest of an answer that starts with begun, and returns the error that replaces
// it.
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

// observe passes one message to the call and returns the message for the SDK: nothing for a
// notification that was passed on, and a request with the serial of its call.
func observe(sent []byte, x *Call) []byte {
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
	case m.Method == "" && m.Result != nil:
		x.Delivery.SetResult(m.Result)
	case m.Method != "" && m.ID != nil:
		return x.tag(sent)
	case m.Method == message.NotificationProgress || m.Method == message.NotificationMessage || m.Method == message.NotificationElicitationComplete:
		x.Notify(m.Method, m.Params)
		return nil
	}
	return sent
}

// NewClient returns the HTTP client of one server's connections.
func NewClient(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: &HTTPObserver{Next: next}, CheckRedirect: egress.CheckRedirect}
}
