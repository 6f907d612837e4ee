// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

const (
	// maxResumed is how often in a row a stream is resumed that brings nothing.
	maxResumed = 5
	// minBackoff and maxBackoff limit the pause before a stream is opened again.
	minBackoff, maxBackoff = time.Second, 30 * time.Second
)

// backoff returns the pause before the n-th attempt in a row. Its part of chance keeps many clients of a
// server apart.
func backoff(n int) time.Duration {
	least := min(time.Duration(float64(minBackoff)*math.Pow(1.5, float64(min(n, 20)-1))), maxBackoff)
	return least + rand.N(least) //nolint:gosec // Spreading load needs no secret randomness.
}

// pause waits. It returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow reads an event stream up to the answer. One that breaks off before is resumed, if its events
// have ids; that of no request is opened again in any case.
func (x *exchange) follow(resp *http.Response) error {
	last, without := "", 0
	for {
		before, messages := last, x.messages
		wait, err := x.events(resp, &last)
		if err != nil || x.found {
			return err
		}
		_ = resp.Body.Close()
		if without++; last != before || x.request == nil && x.messages > messages {
			without = 0
		}
		if err := x.ended(last, without); err != nil {
			return err
		}
		if resp, err = x.resume(last, wait); err != nil {
			return err
		}
	}
}

// ended returns the error of a stream that has ended and is not opened again, nil for another. last is the
// id of its last event, and without how often in a row it has brought nothing.
func (x *exchange) ended(last string, without int) error {
	switch {
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case last == "" && x.request != nil:
		return errNoAnswer
	case without > maxResumed:
		return fmt.Errorf("%w: its stream ended %d times without a new event", ErrClosed, without)
	}
	return nil
}

// isMessage reports whether an event has a message.
func isMessage(e eventstream.Event) bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == "message")
}

// events reads an event stream to its end, or to the answer. last becomes the id of the last event that
// has one. wait is how long to wait before the stream is resumed, zero if the server does not say.
func (x *exchange) events(resp *http.Response, last *string) (wait time.Duration, err error) {
	o, end := x.wire.session.options.Room(x.ctx, x.observer(), resp.Body)
	defer end()
	in := eventstream.NewReader(resp.Body, x.most(), o)
	defer in.Release()
	for {
		e, err := in.Next()
		if e.ID != "" {
			*last = e.ID
		}
		if e.Retry > 0 {
			wait = e.Retry
		}
		if isMessage(e) {
			x.messages++
			if err := x.take(e.Data); err != nil {
				_ = resp.Body.Close()
				return 0, err
			}
		}
		if x.found {
			x.body = resp.Body
			return 0, nil
		}
		if err != nil {
			return wait, nil // A stream that breaks off is resumed, as one that ends.
		}
	}
}

// resume opens a stream again.
func (x *exchange) resume(last string, wait time.Duration) (*http.Response, error) {
	var failed error
	for attempt := 1; attempt <= maxResumed; attempt++ {
		if wait <= 0 {
			wait = backoff(attempt)
		}
		if !pause(x.ctx, wait) {
			return nil, context.Cause(x.ctx)
		}
		wait = 0
		var resp *http.Response
		resp, failed = x.wire.get(x.ctx, x.ctx, last)
		switch {
		case failed == nil && resp.StatusCode == http.StatusOK:
			return resp, nil
		case failed == nil:
			failed = &StatusError{Status: resp.StatusCode}
			_ = resp.Body.Close()
			return nil, fmt.Errorf("%w: its stream cannot be resumed: %w", ErrClosed, failed)
		case x.ctx.Err() != nil:
			return nil, context.Cause(x.ctx)
		}
	}
	return nil, fmt.Errorf("%w: its stream cannot be resumed: %w", ErrClosed, failed)
}

// readJSON reads an answer that is one message, or a batch.
func (x *exchange) readJSON(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	o, end := x.wire.session.options.Room(x.ctx, x.observer(), resp.Body)
	defer end()
	body, err := readBody(resp, x.most(), o)
	if err != nil {
		return err
	}
	if each, ok := rpc.Batch(body); ok {
		if err := x.takeEach(each); err != nil || x.found {
			return err
		}
		return rpc.InvalidAnswer("it is an array without an answer")
	}
	m, ok := rpc.Read(body)
	switch {
	case !ok:
		return x.invalid("it is no JSON object")
	case m.Request:
		return rpc.InvalidAnswer(m.FaultFor(x.id))
	}
	return x.one(m)
}

var errTooLarge = fmt.Errorf("the server's answer is larger than %d MiB", eventstream.MaxMessage>>20)

// readBody reads a body that is one message of at most most bytes. A larger one, and one for which there
// is no memory, becomes an error for the request that it answers.
func readBody(resp *http.Response, most int, o eventstream.Room) ([]byte, error) {
	known := resp.ContentLength
	if known > int64(most) {
		return instead(nil, resp.Body, func(m *rpc.Oversize) []byte { return m.Answer(most) })
	}
	var begun []byte
	if known < 0 {
		var err error
		if begun, err = io.ReadAll(io.LimitReader(resp.Body, eventstream.MaxUncounted+1)); err != nil {
			return nil, err
		}
		if known = int64(most); len(begun) <= eventstream.MaxUncounted {
			known = int64(len(begun))
		}
	}
	if err := o.Take(int(known)); err != nil {
		return instead(begun, resp.Body, func(m *rpc.Oversize) []byte { return o.Refusal(m, err) })
	}
	rest, err := rpc.ReadAll(io.LimitReader(resp.Body, int64(most+1-len(begun))), resp.ContentLength)
	body := rest
	if len(begun) > 0 {
		body = append(begun, rest...)
	}
	o.Received(min(len(body), most))
	if err == nil && len(body) > most {
		return instead(body, resp.Body, func(m *rpc.Oversize) []byte { return m.Answer(most) })
	}
	return body, err
}

// instead reads the rest of a message that starts with begun, and returns what refuse makes of it.
func instead(begun []byte, rest io.Reader, refuse func(*rpc.Oversize) []byte) ([]byte, error) {
	m := &rpc.Oversize{}
	_, _ = m.Write(begun)
	if _, err := io.Copy(m, rest); err != nil {
		return nil, err
	}
	if answer := refuse(m); answer != nil {
		return answer, nil
	}
	return nil, errTooLarge
}
