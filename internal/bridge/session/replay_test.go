// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// allocated returns how much memory is in use.
func allocated() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestWhatIsKeptTakesNoMoreThanItMay fills the memory for clients that come back with what is small, and compares with
// the memory in use. It runs alone, since it measures the process.
func TestWhatIsKeptTakesNoMoreThanItMay(t *testing.T) {
	type filling func(t *testing.T, h *house, header map[string]string, n int)
	ping := func(version, id string) filling {
		return func(t *testing.T, h *house, header map[string]string, n int) {
			t.Helper()
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s%d","method":"ping"}`, id, n)))
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": "*/*", "Mcp-Session-Id": header["Mcp-Session-Id"], "Mcp-Protocol-Version": version,
			} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			if h.store.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("request %d is answered with %d %s", n, w.Code, w.Body)
			}
		}
	}
	for name, fill := range map[string]filling{
		"answers behind a first event":      ping("2025-11-25", ""),
		"answers alone":                     ping("2025-06-18", ""),
		"answers to requests with long ids": ping("2025-11-25", strings.Repeat("x", maxSpelling-10)),
		"messages that belong to no request": func(t *testing.T, h *house, header map[string]string, _ int) {
			t.Helper()
			for range 5 {
				must.Succeed(t, h.store.open[header["Mcp-Session-Id"]].own.send([]byte(pingBody)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			header := h.session(t)
			before := allocated()
			most := 0
			for n := range 10_000 {
				if fill(t, h, header, n); n%1000 == 0 {
					most = max(most, allocated()-before)
				}
			}
			if most > ReplayBytes || most < ReplayBytes/2 {
				t.Errorf("what is kept takes %d bytes, want at most %d and not much less", most, ReplayBytes)
			}
			runtime.KeepAlive(h)
		})
	}
}
