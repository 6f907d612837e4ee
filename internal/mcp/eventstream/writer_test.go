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
