// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// BenchmarkFirstAnswersOfASleepingBridge asks for the list of 200 tools, of some 100 KB, and reports
// how long the slowest of twenty answers takes.
func BenchmarkFirstAnswersOfASleepingBridge(b *testing.B) {
	k, l := newKeepingWorld(b), newLister("alice")
	tools := make([]string, 200)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":%q}`, i, strings.Repeat("what it does ", 40))
	}
	l.result = `{"tools":[` + strings.Join(tools, ",") + `]}`
	alice := k.addKept("alice")
	k.setPod("alice", "alice-0", hosts[0])
	k.serveBridge(hosts[0], "uid-alice", l.ServeHTTP)
	body, header := modernAsk("1", "tools/list", "")
	ask := func() {
		r := k.request("POST", "/u/alice/mcp", alice, body)
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		if got := k.do(r); got.status != http.StatusOK {
			b.Fatalf("got %d %.200s", got.status, got.body)
		}
	}
	ask()
	wait.Until(b, "the list is kept", func() bool { return k.shelf.of("uid-alice") == 1 })
	k.sleep("alice")
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		ask()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*19/20].Microseconds())/1000, "ms/p95")
}
