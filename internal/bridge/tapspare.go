// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/plain"
)

// The SDK would read an answer three times over that the exchange has already,
// in two goroutines, for a result that nobody looks at. Where the answer is the
// first message and leaves no doubt, it is spared that.

const (
	// restTime and restBytes bound what is read behind an answer so that the
	// connection can be used again.
	restTime  = 250 * time.Millisecond
	restBytes = 64 << 10
	// idWithin is where in a request its id is, in bytes.
	idWithin = 64
)

// requestNumber is how the SDK begins a request.
var requestNumber = regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":([0-9]+),`)

// numberOf returns the id of the SDK's request, empty where it is not found.
func numberOf(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	begin := make([]byte, idWithin)
	n, _ := io.ReadFull(body, begin)
	if found := requestNumber.FindSubmatch(begin[:n]); found != nil {
		return string(found[1])
	}
	return ""
}

// lasting is a request that may last longer than whoever made it waits.
type lasting struct {
	stop func() bool // has the caller's end no longer end it
	end  func()
}

// spare returns what the SDK is to see of the answer to r, which belongs to x. A
// connection whose request is cancelled cannot be used again, so that a spared
// one lasts until the end of its answer.
func spare(r *http.Request, resp *http.Response, x *exchange, l *lasting) *http.Response {
	before, now := r.Header.Get(headerSessionID), resp.Header.Get(headerSessionID)
	if x.number == "" || now != "" && now != before {
		return resp // The SDK refuses the answer of another session unread.
	}
	events, isStream := resp.Body.(*eventBody)
	if isStream {
		events.ahead()
	}
	if !x.plainly {
		return resp // What cancels the request still does.
	}
	l.stop()
	if isStream {
		go finishReading(events.src, l.end)
	} else {
		l.end()
	}
	// The SDK takes this for one request that failed, and its connection for
	// whole.
	return &http.Response{
		Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

// finishReading reads what little may come behind an answer.
func finishReading(body io.ReadCloser, end func()) {
	timer := time.AfterFunc(restTime, end)
	defer end()
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, restBytes)
	_ = body.Close()
}

// hears keeps the result of a plain answer, and reports false for any other
// message.
func (x *exchange) hears(message []byte) bool {
	m, ok := plain.Parse(message)
	if !ok || m.Method != nil || m.Result == nil {
		return false
	}
	x.answered(m.Result)
	x.plainly = string(m.ID) == x.number && m.Result[0] == '{'
	return true
}

// ahead reads up to the first message, so that Read has it without waiting.
func (b *eventBody) ahead() {
	for b.err == nil && !b.seen {
		var part []byte
		part, b.err = b.event()
		b.out = append(b.out, part...)
	}
}
