// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
)

// catch makes a 500 of a panic below it, where nothing has been sent yet, and
// an aborted answer otherwise. Deliberate aborts pass: they are how a client
// learns that an answer is not complete.
func (s *Server) catch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				s.answerPanic(w, r, v)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) answerPanic(w http.ResponseWriter, r *http.Request, v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if rec := recordOf(r.Context()); rec.call.endedWell(r.Context()) {
			rec.fail(endedBy(r.Context()), nil)
			return // Its client sees the end of a stream, and not of a connection.
		}
		panic(v)
	}
	s.log.ErrorContext(r.Context(), "panic", "requestID", recordOf(r.Context()).id,
		"cause", panicCause(v), "stack", string(debug.Stack()))
	if a, ok := w.(*answer); ok && a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, r, errInternal, nil)
}

// panicCause describes a panic. Other values than the runtime's own may hold
// what a request held, and are told by their type.
func panicCause(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}
