// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
)

func TestWhatCostsNothingIsBoundedToo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		came, end := make(chan struct{}, 2*limits.MaxUncounted), make(chan struct{})
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			came <- struct{}{}
			if !strings.Contains(string(body), "prompts/get") {
				<-end
			}
			rw.WriteHeader(http.StatusAccepted)
		})
		kinds := []struct{ method, path, body string }{
			{"POST", "/mcp", rpcNotification}, {"POST", "/mcp", rpcResponse}, {"DELETE", "/mcp", ""}, {"POST", "/sse?sessionid=s", rpcNotification}, {"POST", "/mcp", rpcOpening},
		}
		statuses := make([]<-chan int, limits.MaxUncounted)
		for i := range statuses {
			kind := kinds[i%len(kinds)]
			statuses[i] = w.begin(w.request(kind.method, "/u/alice"+kind.path, alice, kind.body))
			select {
			case <-came:
			case got := <-statuses[i]:
				t.Fatalf("request %d is answered with %d before the bridge answers", i, got)
			}
		}
		for _, kind := range kinds {
			got := w.do(w.request(kind.method, "/u/alice"+kind.path, alice, kind.body))
			if got.status != 429 || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, "too_many_calls") {
				t.Errorf("one more %s %s %s: %d %s", kind.method, kind.path, kind.body, got.status, got.body)
			}
		}
		// Calls have their own limit.
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest)); got.status != 202 {
			t.Errorf("a call: %d %s", got.status, got.body)
		}
		close(end)
		for _, status := range statuses {
			if got := <-status; got != 202 {
				t.Errorf("one of those in flight: %d", got)
			}
		}
		eventually(t, func() bool { return w.do(w.request("DELETE", "/u/alice/mcp", alice, "")).status == 202 })
	})
}
