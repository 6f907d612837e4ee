// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// answerPanic makes a 500 of a panic where nothing has been sent yet, and an aborted
// answer otherwise. Deliberate aborts pass: they are how a client learns that an
// answer is not complete.
func (s *Server) answerPanic(r *request, v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if ended := inflight.EndedBy(r.context()); ended != nil && r.EndedWell() {
			r.fail(ended, nil)
			return // Its client sees the end of a stream, and not of a connection.
		}
		panic(v)
	}
	s.observer.log.ErrorContext(r.context(), "panic", "requestID", r.id, "cause", panicCause(v), "stack", string(debug.Stack()))
	if r.Began() {
		panic(http.ErrAbortHandler)
	}
	r.w = r
	writeProblem(r, problems.Internal, nil)
}

// panicCause describes a panic. Other values than the runtime's own may hold
// what a request held, and are described by their type.
func panicCause(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}
