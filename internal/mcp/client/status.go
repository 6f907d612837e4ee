// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// StatusError is what a server answered to a request by an HTTP status in place of an answer.
type StatusError struct {
	Status int
	// Said is the JSON-RPC error in the body, nil for none.
	Said *jsonrpc.Error
	// Words are the text for people in the body, empty for none.
	Words string
	// RetryAfter is that of the header Retry-After, zero for none.
	RetryAfter time.Duration
	// Ended says that the session may have ended, and Refused that the server does not know the session, so
	// that it did nothing.
	Ended, Refused bool
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Said != nil && !e.Transient() {
		return e.Said.Message
	}
	return fmt.Sprintf("the server answered with the HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

// Unwrap serves errors.Is and errors.As: a JSON-RPC error in the body is the server's answer, unless the
// status says that the server cannot answer now.
func (e *StatusError) Unwrap() []error {
	var all []error
	if e.Said != nil && !e.Transient() {
		all = append(all, e.Said)
	}
	if e.Refused {
		all = append(all, ErrSessionMissing)
	}
	return all
}

// Transient reports whether the status is one of a server that cannot answer now.
func (e *StatusError) Transient() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

const (
	// maxSaid bounds in bytes what is read of a server's words. An error has a sentence or two.
	maxSaid = 64 << 10
	// sayTime bounds the wait for these words: the status alone is an answer, too.
	sayTime = 5 * time.Second
	// maxRetryAfter bounds what is passed on of a header Retry-After. A day is longer than any limit
	// of calls that a person waits for.
	maxRetryAfter = 24 * time.Hour
)

// refused returns the error of an answer by its status. id is that of the request, nil if no answer was
// expected. The connection ends, unless the error concerns this request alone.
func (w *httpWire) refused(resp *http.Response, q *Request, id json.RawMessage) error {
	w.mu.Lock()
	inSession := w.sessionID != ""
	w.mu.Unlock()
	e := statusError(resp, id, inSession)
	if m := methods.Of(q.Method); !e.Transient() && !e.Ended && e.Said == nil && !m.Stream && !m.Introduces {
		w.session.fail(e)
	}
	return e
}

// statusError returns the error of an answer to the request of an id, and closes its body.
func statusError(resp *http.Response, id json.RawMessage, inSession bool) *StatusError {
	defer func() { _ = resp.Body.Close() }()
	e := &StatusError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	head := headOf(resp)
	var own bool
	e.Said, own = errorIn(resp.Header, head, id)
	e.Words = wordsOf(e.Said, resp.Header, head)
	if inSession {
		e.judge(head, own)
	}
	return e
}

// headOf returns the beginning of the body.
func headOf(resp *http.Response) []byte {
	late := time.AfterFunc(sayTime, func() { _ = resp.Body.Close() })
	defer late.Stop()
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxSaid)) // What came counts.
	return head
}

// errorIn returns the JSON-RPC error in the body of an answer, nil if there is none, and whether its
// id is that of the request.
func errorIn(header http.Header, body []byte, id json.RawMessage) (said *jsonrpc.Error, own bool) {
	if mediaTypeOf(header) == "text/event-stream" {
		_, body, _ = bytes.Cut(body, []byte("data:"))
		body, _, _ = bytes.Cut(body, []byte("\n"))
	}
	var answer struct {
		ID    json.RawMessage `json:"id"`
		Error *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil, false //nolint:nilerr // A body need not be an answer.
	}
	return answer.Error, bytes.Equal(bytes.TrimSpace(answer.ID), id)
}

// wordsOf returns what the body of an answer says to people: the message of its JSON-RPC error, or the
// detail of a problem (RFC 9457).
func wordsOf(said *jsonrpc.Error, header http.Header, body []byte) string {
	if said != nil {
		return said.Message
	}
	var problem struct{ Title, Detail string }
	if mediaTypeOf(header) == "application/problem+json" {
		_ = json.Unmarshal(body, &problem) // What it has counts.
	}
	return cmp.Or(problem.Detail, problem.Title)
}

// missingSession are words of SDKs for a session that they do not know, at status 400: those of the
// examples of the TypeScript SDK 1.25 and of the Python SDK 1.9, and of a transport of the
// TypeScript SDK that has seen no client yet.
var missingSession = []string{"bad request: no valid session id", "bad request: server not initialized"}

// judge decides whether the status says that the session has ended. The protocol has status 404 for
// that, whatever the body. Version 2026-07-28 has the same status for an unknown method, which
// servers of both eras send, too: a new session would not know that method either. Of other words
// about a session, and of 410, nobody says that nothing was done.
func (e *StatusError) judge(body []byte, own bool) {
	text := string(body)
	if e.Said != nil {
		text = e.Said.Message
	}
	text = strings.ToLower(strings.TrimSpace(text))
	ofSDK := slices.ContainsFunc(missingSession, func(words string) bool { return strings.HasPrefix(text, words) })
	switch e.Status {
	case http.StatusNotFound:
		e.Refused = e.Said == nil || !own || e.Said.Code != jsonrpc.CodeMethodNotFound
	case http.StatusBadRequest:
		e.Refused = ofSDK
		e.Ended = strings.Contains(text, "session")
	case http.StatusGone:
		e.Ended = true
	}
	e.Ended = e.Ended || e.Refused
}

// retryAfter reads a header Retry-After: a number of seconds, or a date. 0 means none.
func retryAfter(value string, now time.Time) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		after = time.Duration(math.Ceil(date.Sub(now).Seconds())) * time.Second
	}
	return min(max(after, 0), maxRetryAfter)
}

// maxBusyWait bounds how long a request waits in all for a server that says that it is busy. Common
// clients wait for twice this time.
const maxBusyWait = 30 * time.Second

// sendAgain sends a request by send in the context ctx, for whoever waits in the context asked. If the server is
// busy and says until when by Retry-After, an opening is sent again then, as long as its time allows. A
// connection that fails would be opened from its beginning, with more requests. Calls do not wait: whether
// to repeat one is the client's decision.
func (w *httpWire) sendAgain(
	ctx, asked context.Context, r *http.Request, opening bool, send func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	most := w.waitsUntil(asked)
	for {
		resp, err := send(r)
		if err != nil || !opening || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		now := time.Now()
		after := retryAfter(resp.Header.Get("Retry-After"), now)
		if after == 0 || !now.Add(after).Before(most) {
			return resp, nil
		}
		_ = resp.Body.Close()
		if !pause(ctx, after) {
			return nil, context.Cause(ctx)
		}
		r = r.Clone(ctx)
		if r.GetBody == nil {
			continue
		}
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// waitsUntil returns until when a request may wait for a server that is busy: to the deadline of whoever
// asked, else until the connection must be open, and at most for maxBusyWait.
func (w *httpWire) waitsUntil(asked context.Context) time.Time {
	most := time.Now().Add(maxBusyWait)
	until, ok := asked.Deadline()
	if !ok {
		until = w.session.options.OpenBy
	}
	if until.IsZero() || most.Before(until) {
		return most
	}
	return until
}
