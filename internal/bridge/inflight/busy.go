// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// maxBusyWait bounds how long a request waits in all for a server that says that it is busy. Common
// clients wait for twice this time.
const maxBusyWait = 30 * time.Second

// send sends a request. If the server is busy and says until when by Retry-After, an opening is sent
// again then, as long as its time allows. A connection that fails would be opened from its
// beginning, with more requests. Calls do not wait: whether to repeat one is the client's decision.
func (t *HTTPObserver) send(r *http.Request, x *Call) (*http.Response, error) {
	most := time.Now().Add(maxBusyWait)
	for {
		resp, err := t.Next.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		now := time.Now()
		after := retryAfter(resp.Header.Get("Retry-After"), now)
		if after == 0 || !now.Add(after).Before(t.waitsUntil(r, x, most)) {
			return resp, nil
		}
		again := openingAgain(r)
		if again == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return nil, context.Cause(r.Context())
		}
		r = again
	}
}

// waitsUntil returns until when a request may wait: to its own deadline, else until its connection must
// be open, and at most until most.
func (t *HTTPObserver) waitsUntil(r *http.Request, x *Call, most time.Time) time.Time {
	until, ok := r.Context().Deadline()
	if x != nil {
		until, ok = x.Ctx.Deadline() // Its HTTP request outlasts it.
	}
	if !ok {
		until = t.OpenBy
	}
	if until.IsZero() || most.Before(until) {
		return most
	}
	return until
}

// openingAgain returns an opening to send again, nil for other requests. A GET opens a stream.
func openingAgain(r *http.Request) *http.Request {
	again := r.Clone(r.Context())
	if r.Method == http.MethodGet {
		return again
	}
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(body)
	_ = body.Close()
	m, ok := message.ReadIncoming(text)
	if err != nil || !ok || !methods.Of(m.Method).Opening {
		return nil
	}
	setBody(again, text)
	return again
}
