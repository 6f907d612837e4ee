// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAClientIsNotToldWhatAServerEchoes has a server refuse calls and repeat
// the secret that it was sent.
func TestAClientIsNotToldWhatAServerEchoes(t *testing.T) {
	t.Parallel()
	const canary = `c4n4ry"t0ken`
	for _, name := range []string{"one", "several"} {
		t.Run(name+" behind the bridge", func(t *testing.T) {
			t.Parallel()
			server, calls := callServer(t, func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":%q,"data":{"token":%q,"n":1}}}`, id, "bad token "+canary, canary)
			}, http.NotFound)
			server.Secrets, server.Headers = []string{"TOKEN"}, bearer("TOKEN")
			servers, tool := []bridgeconfig.Server{server}, "t"
			if name == "several" {
				servers, tool = append(servers, newWitness(t, "two", "modern", nil).Server), "one_t"
			}
			log := &logtest.Log{}
			r := newLoggedRig(t, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), fast, servers...)
			r.bridge.UseSecrets(secretsOf("r", "TOKEN", canary))
			wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
			_, legacyAnswer := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool), r.session(t))
			_, modernAnswer := r.do(t, "POST", r.url, modernBody(1, "tools/call", fmt.Sprintf(`"name":%q,`, tool)), modernHeader("tools/call", tool))
			for _, answer := range []string{legacyAnswer, modernAnswer} {
				if !strings.Contains(answer, `-32042`) || !strings.Contains(answer, `"message":"bad token [redacted]"`) || !strings.Contains(answer, `"token":"[redacted]","n":1`) {
					t.Errorf("answer = %s, want the server's error without its secret", answer)
				}
				if strings.Contains(answer, "c4n4ry") {
					t.Errorf("the answer holds the secret: %s", answer)
				}
			}
			if calls.Load() != 2 || strings.Contains(log.String(), "c4n4ry") {
				t.Errorf("%d calls, log %s", calls.Load(), log)
			}
		})
	}
}
