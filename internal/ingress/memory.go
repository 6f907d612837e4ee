// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

const (
	// defaultAnswer is the default of httpapi.Route.MaxAnswer, in bytes: twice the size of most
	// pages.
	defaultAnswer = 32 << 10
	// anonymousTimeout is how long the body of a caller who is not known may take, of at
	// most 64 KiB.
	anonymousTimeout = 5 * time.Second
)

// countStranger counts a request whose caller is not known. Of a source that has too many,
// those whose caller gets known are served, and the others are answered without a body: for one,
// their client would have to read.
func (b *bounds) countStranger(r *request) {
	r.taken.stranger = b.memory.Requests.For(r.source)
	r.crowded = r.taken.stranger.Reserve(1) != nil
}

// checkCrowd refuses a request that anybody may make, of a source that has too many.
func checkCrowd(r *request) error {
	if r.crowded {
		return problems.Busy
	}
	return nil
}

// writeBusy answers a request of a source that has too many.
func writeBusy(r *request) {
	h := r.w.Header()
	problems.Busy.SetHeader(h, "hosted-bridge")
	h.Del("Content-Type")
	h.Del("WWW-Authenticate")
	r.w.WriteHeader(problems.Busy.Status)
}

// deliver waits until the client has read what was written, at most WriteTimeout. Over HTTP/1.1
// an answer that is short enough to wait in the server's buffer is on its way at the end of
// the request; over HTTP/2 it waits for the client's window, in memory that is still taken.
func (t *router) deliver(r *request) {
	if r.http.ProtoMajor != 2 || !r.Began() {
		return
	}
	control := http.NewResponseController(r) // The router's writer may serve another request by now.
	if control.SetWriteDeadline(time.Now().Add(t.tracker.WriteTimeout())) == nil {
		_ = control.Flush() // Its client has left, or was given up.
	}
}

// know notes that something of their own bounds the requests of r's caller.
func (r *request) know() { r.taken.stranger.Release() }

// answerWriter counts the answer of a feature as what it is once that is known.
type answerWriter struct {
	http.ResponseWriter

	reserved *limits.Reservation
	counted  bool
}

// Unwrap serves http.ResponseController.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter. Features write an answer at once, or in pieces of
// what is kept anyway.
func (a *answerWriter) Write(b []byte) (int, error) {
	if !a.counted {
		a.counted = true
		a.reserved.Set(answerSize(len(b)))
	}
	return a.ResponseWriter.Write(b) //nolint:wrapcheck // It is the writer's own error.
}

// answerSize is the memory of an answer that was built in a buffer that grew.
func answerSize(n int) int64 { return 2 * int64(n) }
