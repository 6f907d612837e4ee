// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAServerWithoutAPublicAddressSaysSo is the whole bridge before such a
// server. It must say why it does not work and not where the server is.
func TestAServerWithoutAPublicAddressSaysSo(t *testing.T) {
	t.Parallel()
	server, connections := countedServer(t, http.NotFoundHandler())
	_, port := must.Values(net.SplitHostPort(server.Listener.Addr().String()))(t)
	for _, kind := range []bridgeconfig.Transport{bridgeconfig.StreamableHTTP, bridgeconfig.SSE} {
		for clientEra := range eraNames {
			t.Run(string(kind)+" for a "+clientEra+" client", func(t *testing.T) {
				c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Servers: []bridgeconfig.Server{{Name: "one", Transport: kind, URL: "http://127.0.0.1:" + port + "/secret-path"}}}
				r := newGuardedRig(t, c)
				client := r.connect(t, clientEra, nil)
				err := called(t, client, "echo")
				if err == nil || !strings.Contains(err.Error(), egress.ErrNotPublic.Error()) {
					t.Errorf("error = %v, want one that says why", err)
				}
				wait.Until(t, "the reason in the health", func() bool {
					return r.bridge.Health().Servers["one"].Error == egress.ErrNotPublic.Error()
				})
				for where, text := range map[string]string{"error": err.Error(), "health": r.bridge.Health().Servers["one"].Error} {
					if strings.Contains(text, "127.0.0.1") || strings.Contains(text, port) || strings.Contains(text, "secret-path") {
						t.Errorf("the %s tells where the server is: %s", where, text)
					}
				}
			})
		}
	}
	if got := connections.Load(); got != 0 {
		t.Errorf("%d connections", got)
	}
}

// TestSecretsGoUnencryptedToNoPublicServer names public addresses, which nothing
// is sent to: they are refused before there is a connection.
func TestSecretsGoUnencryptedToNoPublicServer(t *testing.T) {
	t.Parallel()
	header := []bridgeconfig.Header{{Name: "X-Key", Value: "${KEY}"}}
	private, connections := countedServer(t, http.NotFoundHandler())
	tests := map[string]struct {
		server bridgeconfig.Server
		want   string
	}{
		"in a header": {bridgeconfig.Server{URL: "http://8.8.8.8:9/mcp", Headers: header, Secrets: []string{"KEY"}}, egress.ErrPlain.Error()},
		"at the authorization server": {bridgeconfig.Server{
			URL: private.URL, Secrets: []string{"KEY"},
			OAuth: &bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: "http://8.8.8.8:9/token", ClientID: "me", ClientSecret: "KEY"},
		}, "the authorization server's address is public and its URL is not https"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.server.Name = "one"
			r := newRig(t, fast, tt.server)
			r.bridge.UseSecrets(secretsOf("r1", "KEY", "c4n4ry"))
			wait.Until(t, "the reason in the health", func() bool { return r.bridge.Health().Servers["one"].Error == tt.want })
			if err := called(t, r.connect(t, "legacy", nil), "echo"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says why", err)
			}
		})
	}
	if got := connections.Load(); got != 0 {
		t.Errorf("%d connections", got)
	}
}
