// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

// metricsOf returns the lines of the bridge's own metrics.
func metricsOf(b *Bridge) string {
	w := httptest.NewRecorder()
	b.ServeMetrics(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetricsSayHowCallsEnd(t *testing.T) {
	t.Parallel()
	s := &script{annotations: readOnly, answer: same(done)}
	server := s.serve(t)
	server.CacheTTL = anHour
	other := bridgeconfig.Server{Name: "two", URL: "http://127.0.0.1:1/"}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server, other}})
	client := r.connect(t, "legacy", nil)
	for _, tool := range []string{"one_t", "one_t", "secret-tool"} {
		_, _ = client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	}
	_, _ = client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "secret-prompt"})
	got := metricsOf(r.bridge)
	for _, line := range []string{
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",outcome="success",server="one"} 2`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",outcome="protocol_error",server=""} 1`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="prompts/get",outcome="protocol_error",server=""} 1`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="initialize",outcome="success",server=""} 1`,
		`hostedbridge_bridge_sessions 1`,
		`hostedbridge_bridge_links{server="one"} 2`,
		`hostedbridge_bridge_links{server="two"} 0`,
		`hostedbridge_bridge_parked_calls 0`,
		`hostedbridge_bridge_breaker_state{server="two"} 0`,
		`go_goroutines `,
		`process_resident_memory_bytes `,
		`process_resident_memory_anon_bytes `,
	} {
		if !strings.Contains(got, "\n"+line) {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
	if strings.Contains(got, "\nhostedbridge_bridge_cache_bytes 0\n") {
		t.Error("the kept answer takes no memory")
	}
	metricstest.Documented(t, "bridge", metricstest.Read(t, got))
	for _, label := range []string{"secret", "alice", "one_t"} {
		if strings.Contains(got, label) {
			t.Errorf("a metric names %s", label)
		}
	}
}
