// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncall

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

const contentType = "application/json"

// ErrQuestion is what the errors of an answer wrap when the question itself is
// at fault.
var ErrQuestion = errors.New("the question is wrong")

// Handle returns a handler that reads a question of at most maxBody bytes and
// writes the result of answer.
func Handle[Q, A any](maxBody int64, answer func(ctx context.Context, question Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "read the question: "+err.Error(), http.StatusBadRequest)
			return
		}
		var question Q
		if err := json.Unmarshal(body, &question); err != nil {
			http.Error(w, "read the question: "+err.Error(), http.StatusBadRequest)
			return
		}
		a, err := answer(r.Context(), question)
		var text []byte
		if err == nil {
			text, err = json.Marshal(a)
		}
		switch {
		case errors.Is(err, ErrQuestion):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(text)
		}
	})
}

// Nothing is the question or the answer of a call that has none.
type Nothing struct{}
