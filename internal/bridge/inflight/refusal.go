// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Refusal is what a server answered to a request by an HTTP status in place of an answer. The SDK
// loses the server's words at some statuses, and takes an ended session for an answer at others.
type Refusal struct {
	status int
	said   *jsonrpc.Error // nil if the body has no JSON-RPC error
	words  string         // the text for people in the body, empty for none
	after  time.Duration  // of the header Retry-After
	ended  bool           // whether the session may have ended
	// refused says that the server does not know the session, so that it did nothing.
	refused bool
}

// RefusalKey is the context key of the refusal of a request, as a *Refusal.
type RefusalKey struct{}

// Explain returns the error of a request with what the server said in its refusal. hide is applied
// to it before it is cut or quoted, since a part of a secret is not found.
func (f *Refusal) Explain(err error, hide secret.Redactor) error {
	switch {
	case err == nil || f.status == 0:
		return err
	case f.ended:
		return &fault.SessionEnded{Err: err, Answer: f.said, Refused: f.refused}
	case !transient(f.status):
		return err
	}
	return &fault.Refused{Status: f.status, Said: hide.Redact(f.words), RetryAfter: f.after, Err: err}
}

// transient reports whether the SDK reads no body of an answer with this status.
func transient(status int) bool {
	switch status {
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

// observeRefusal keeps what the server answered to the request by its status, and returns the
// answer for the SDK.
func (t *HTTPObserver) observeRefusal(r *http.Request, resp *http.Response, x *Call, id json.RawMessage) *http.Response {
	f, ok := r.Context().Value(RefusalKey{}).(*Refusal)
	if !ok || id == nil || r.Method != http.MethodPost || resp.StatusCode < http.StatusBadRequest {
		return resp
	}
	*f = Refusal{status: resp.StatusCode, after: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	head := headOf(resp)
	var own bool
	f.said, own = errorIn(resp.Header, head, id)
	f.words = wordsOf(f.said, resp.Header, head)
	if t.OneStream || r.Header.Get(message.HeaderSessionID) != "" {
		f.judge(head, own)
	}
	if !f.refused {
		return resp
	}
	if x != nil {
		x.Delivery.refuse()
	}
	if t.OneStream {
		return resp
	}
	// The SDK closes its connection where it sees that a session has ended, and with it the calls
	// that still wait for answers. An error is one of this request alone.
	_ = resp.Body.Close()
	told := jsondoc.EncodeExact(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": "the session has ended"},
	})
	resp.ContentLength = int64(len(told))
	resp.Body = io.NopCloser(bytes.NewReader(told))
	return resp
}

// headOf returns the beginning of the body, which can be read again.
func headOf(resp *http.Response) []byte {
	body := resp.Body
	late := time.AfterFunc(sayTime, func() { _ = body.Close() })
	defer late.Stop()
	head, _ := io.ReadAll(io.LimitReader(body, maxSaid)) // What came counts.
	resp.Body = &boundedBody{body, io.MultiReader(bytes.NewReader(head), body)}
	return head
}

// errorIn returns the JSON-RPC error in the body of an answer, nil if there is none, and whether its
// id is that of the request.
func errorIn(header http.Header, body []byte, id json.RawMessage) (said *jsonrpc.Error, own bool) {
	if mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type")); mediaType == "text/event-stream" {
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
	return answer.Error, sameText(answer.ID, id)
}

// wordsOf returns what the body of an answer says to people: the message of its JSON-RPC error, or the
// detail of a problem (RFC 9457).
func wordsOf(said *jsonrpc.Error, header http.Header, body []byte) string {
	if said != nil {
		return said.Message
	}
	var problem struct{ Title, Detail string }
	if mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type")); mediaType == "application/problem+json" {
		_ = json.Unmarshal(body, &problem) // What it has counts.
	}
	return cmp.Or(problem.Detail, problem.Title)
}

func sameText(a, b json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(a), b) }

// missingSession are words of SDKs for a session that they do not know, at status 400: those of the
// examples of the TypeScript SDK 1.25 and of the Python SDK 1.9, and of a transport of the
// TypeScript SDK that has seen no client yet.
var missingSession = []string{"bad request: no valid session id", "bad request: server not initialized"}

// judge decides whether the status says that the session has ended. The protocol has status 404 for
// that, whatever the body. Version 2026-07-28 has the same status for an unknown method, which
// servers of both eras send, too: a new session would not know that method either. Of other words
// about a session, and of 410, nobody says that nothing was done.
func (f *Refusal) judge(body []byte, own bool) {
	text := string(body)
	if f.said != nil {
		text = f.said.Message
	}
	text = strings.ToLower(strings.TrimSpace(text))
	ofSDK := slices.ContainsFunc(missingSession, func(words string) bool { return strings.HasPrefix(text, words) })
	switch f.status {
	case http.StatusNotFound:
		f.refused = f.said == nil || !own || f.said.Code != jsonrpc.CodeMethodNotFound
	case http.StatusBadRequest:
		f.refused = ofSDK
		f.ended = strings.Contains(text, "session")
	case http.StatusGone:
		f.ended = true
	}
	f.ended = f.ended || f.refused
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
