// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

func TestHealthAnswersFromWhatIsKnown(t *testing.T) {
	// No bridge listens: an answer proves that nobody was asked.
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	get := func(key string) reply { return w.do(w.request("GET", "/u/alice/health", key, "")) }
	for _, tt := range []struct {
		name   string
		change func()
		want   string
	}{
		{"without a pod", func() {}, `{"status":"starting","tools":0,"servers":{}}`},
		{"with a pod of which nothing is known", func() { w.setPod("alice", "alice-1", hosts[0]) }, `{"status":"starting","tools":0,"servers":{}}`},
		{"after a probe", func() {
			w.reports["uid-alice"] = health.Report{Status: health.Degraded, Tools: 3, Servers: map[string]health.Server{"a": {Status: health.Unhealthy, Failures: 3, Error: "refused"}}}
		}, `{"status":"degraded","tools":3,"servers":{"a":{"status":"unhealthy","tools":0,"latencyMs":0,"failures":3,"error":"refused"}}}`},
		{"while the pod is away", func() { w.removePod("alice") }, `{"status":"starting","tools":0,"servers":{}}`},
		{"suspended", func() {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
		}, `{"status":"suspended","tools":0,"servers":{}}`},
		{"suspended, with servers that were reported before", func() {
			w.lastReport = func(context.Context, route.Backend) health.Report {
				return health.Report{Tools: 3, Servers: map[string]health.Server{"a": {Status: health.Unhealthy, Error: "the server refuses A_TOKEN", Reason: "credentials_refused"}}}
			}
		}, `{"status":"suspended","tools":3,"servers":{"a":{"status":"unhealthy","tools":0,"latencyMs":0,"failures":0,"error":"the server refuses A_TOKEN","reason":"credentials_refused"}}}`},
	} {
		tt.change()
		if got := get(alice); got.status != 200 || got.body != tt.want || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want 200 %s", tt.name, got.status, got.body, tt.want)
		}
	}
	if got := get(""); got.status != 401 || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("without a key: %d %s", got.status, got.body)
	}
	if want := `{"title":"Unauthorized","status":401,"code":"unauthorized","detail":"Send a valid API key in the header X-API-Key, or in Authorization after the word Bearer."}`; get("").body != want {
		t.Errorf("problem = %s, want %s", get("").body, want)
	}
	if len(w.activity.calls) != 0 {
		t.Error("asking for health counts as activity")
	}
}

func TestHealthIsAskedOfTheBridgeItself(t *testing.T) {
	answer := `{"status":"healthy","tools":2,"servers":{"a":{"status":"healthy","tools":2,"latencyMs":1,"failures":0}}}`
	w, _ := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.RequestURI != "/health" {
			rw.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(rw, answer)
	})
	b, _ := w.routes.Current().Lookup("alice")
	want := health.Report{Status: health.Healthy, Tools: 2, Servers: map[string]health.Server{"a": {Status: health.Healthy, Tools: 2, LatencyMS: 1}}}
	got, err := w.ways.Health(t.Context(), b)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Health: %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"status":"suspended"}`, `{"status":"healthy","tools":-1}`, `{"status":"healthy","servers":{"` + strings.Repeat("a", bridgeclient.MaxReport) + `":{}}}`} {
		answer = bad
		if got, err := w.ways.Health(t.Context(), b); err == nil {
			t.Errorf("%.40s was taken for %v", bad, got)
		}
	}
	b.BridgeUID = "uid-bob"
	if _, err := w.ways.Health(t.Context(), b); err == nil {
		t.Error("alice's bridge passed for bob's")
	}
}

// TestAReportTakesLittleMemoryWhateverABridgeSays is of a bridge that somebody has
// broken into: it says as much as is read of it.
func TestAReportTakesLittleMemoryWhateverABridgeSays(t *testing.T) {
	alone(t) // The heap is the process's.
	var answer string
	w, _ := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, answer) })
	b, _ := w.routes.Current().Lookup("alice")
	fill := func(begin, each, end string) string {
		n := (bridgeclient.MaxReport - len(begin) - len(end)) / len(each)
		return begin + strings.Repeat(each, n) + end
	}
	var many strings.Builder
	for i := 0; many.Len() < bridgeclient.MaxReport-64; i++ {
		fmt.Fprintf(&many, `"%d":{},`, i)
	}
	const healthyWith = `{"status":"healthy","servers":{`
	for what, refused := range map[string]struct{ report, because string }{
		"as many servers as there is room for": {healthyWith + many.String() + `"last":{}}}`, "more than 64 servers"},
		"a server with a long name":            {fill(healthyWith+`"`, "a", `":{}}}`), "the name of a server is longer"},
		"more than is read":                    {fill(healthyWith, " ", `}}  `) + "      ", "more than 262144 bytes"},
	} {
		answer = refused.report
		if _, err := w.ways.Health(t.Context(), b); err == nil || !strings.Contains(err.Error(), refused.because) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", what, err)
		}
	}
	const reports, most = 4, 512 << 10
	var before, after runtime.MemStats
	var kept []health.Report
	for what, report := range map[string]string{
		"collisions":     fill(`{"status":"healthy","renamed":[`, `{},`, `{}]}`),
		"an error":       fill(healthyWith+`"a":{"error":"`, "a", `"}}}`),
		"a revision":     fill(`{"status":"healthy","secretsRevision":"`, "a", `"}`),
		"a page":         fill(healthyWith+`"a":{"connectURL":"`, "a", `"}}}`),
		"a server often": fill(healthyWith, `"a":{},`, `"a":{}}}`),
		"servers often":  fill(`{"status":"healthy",`, `"servers":{"a":{}},`, `"tools":1}`),
	} {
		answer, kept = report, make([]health.Report, 0, reports)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range reports {
			r, err := w.ways.Health(t.Context(), b)
			if err != nil {
				t.Fatalf("%s: %.200v", what, err)
			}
			kept = append(kept, r)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > most {
			t.Errorf("%s: %d reports take %d KiB", what, reports, grown>>10)
		}
		runtime.KeepAlive(kept)
	}
}

func TestABridgeIsToldOfItsSecrets(t *testing.T) {
	status, told := http.StatusAccepted, 0
	w, _ := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && r.RequestURI == "/secrets/refresh" && len(body) == 0 && len(r.TransferEncoding) == 0 {
			told++
		}
		rw.WriteHeader(status)
	})
	b, _ := w.routes.Current().Lookup("alice")
	if err := w.ways.RefreshSecrets(t.Context(), b); err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
	for _, status = range []int{http.StatusOK, http.StatusNotFound, http.StatusServiceUnavailable} {
		if err := w.ways.RefreshSecrets(t.Context(), b); err == nil {
			t.Errorf("status %d is taken for an agreement", status)
		}
	}
	b.BridgeUID, told = "uid-bob", 0
	if err := w.ways.RefreshSecrets(t.Context(), b); err == nil || told != 0 {
		t.Error("alice's bridge passed for bob's")
	}
}
