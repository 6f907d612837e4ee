// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyASilentStreamIsKeptOpen waits for two intervals of comments, ends the writer, and waits again.
func TestOnlyASilentStreamIsKeptOpen(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]string{"text/event-stream": "no, comments 2", "application/json": ", comments 0"} {
		synctest.Test(t, func(t *testing.T) {
			answer := httptest.NewRecorder()
			w := NewWriter(answer)
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte("data: {}\n\n"))
			w.Flush()
			time.Sleep(2*keepAlive + time.Second)
			w.End()
			time.Sleep(2 * keepAlive)
			synctest.Wait()
			got := fmt.Sprintf("%s, comments %d", answer.Header().Get("X-Accel-Buffering"), strings.Count(answer.Body.String(), "\n: still here\n"))
			if got != want || answer.Code != http.StatusAccepted || !answer.Flushed {
				t.Errorf("%s: %s, status %d, flushed %v, want %s", contentType, got, answer.Code, answer.Flushed, want)
			}
		})
	}
}

// TestNoCommentComesIntoAnEvent writes one event in parts, each after the time of a comment.
func TestNoCommentComesIntoAnEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := httptest.NewRecorder()
		w := NewWriter(answer)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{"data: {", "}", "\n\n", "data: {}\n\n"} {
			_, _ = w.Write([]byte(part))
			time.Sleep(keepAlive + time.Second)
		}
		w.End()
		const want = "data: {}\n\n: still here\n\ndata: {}\n\n: still here\n\n"
		if got := answer.Body.String(); got != want {
			t.Errorf("the stream is %q, want %q", got, want)
		}
	})
}
