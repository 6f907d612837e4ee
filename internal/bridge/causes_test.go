// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestACauseIsNamedWhereverAUserLooks has servers that cannot be used, and looks at the health
// report, the instructions and the error of a call.
func TestACauseIsNamedWhereverAUserLooks(t *testing.T) {
	t.Parallel()
	status := func(code int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	good := serveMCP(t, echoServer("good"), "modern")
	t.Cleanup(good.Close)
	for name, tt := range map[string]struct {
		server       bridgeconfig.Server
		says, reason string
	}{
		"a refused token": {
			bridgeconfig.Server{URL: status(http.StatusUnauthorized), Headers: bearer("GUARDED_TOKEN"), Secrets: []string{"GUARDED_TOKEN"}},
			"the server refuses GUARDED_TOKEN", health.ReasonCredentialsRefused,
		},
		"a token without a right": {
			bridgeconfig.Server{URL: status(http.StatusForbidden), Headers: bearer("GUARDED_TOKEN"), Secrets: []string{"GUARDED_TOKEN"}},
			"the server refuses GUARDED_TOKEN", health.ReasonCredentialsRefused,
		},
		"no token": {
			bridgeconfig.Server{URL: status(http.StatusUnauthorized)},
			"the server refuses requests without credentials", health.ReasonCredentialsRefused,
		},
		"a closed port": {bridgeconfig.Server{URL: "http://127.0.0.1:1/mcp"}, "the server's address refuses connections", health.ReasonConnectionRefused},
		"an unknown name": {
			bridgeconfig.Server{URL: "http://no-such-name.invalid/mcp"}, "the server's name could not be resolved", health.ReasonNameNotResolved,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.server.Name = "bad"
			r := newRig(t, fast, tt.server, bridgeconfig.Server{Name: "good", URL: good.URL})
			const value = "a-token-that-nobody-sees"
			r.bridge.UseSecrets(secretsOf("1", "GUARDED_TOKEN", value))
			wait.Until(t, "unhealthy with its cause", func() bool {
				s := r.bridge.Health().Servers["bad"]
				return s.Status == health.Unhealthy && strings.Contains(s.Error, tt.says) && s.Reason == tt.reason
			})
			for _, era := range []string{"legacy", "modern"} {
				client := r.connect(t, era, nil)
				if got := client.InitializeResult().Instructions; !strings.Contains(got, "# bad\n\nThis server is not available: "+tt.says) {
					t.Errorf("%s: the instructions are %q", era, got)
				}
				if err := called(t, client, "bad_echo"); err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), value) {
					t.Errorf("%s: a call fails with %v", era, err)
				}
			}
		})
	}
}
