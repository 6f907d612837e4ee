// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// sent notes the header Authorization of the requests that pass.
type sent []string

// RoundTrip implements http.RoundTripper.
func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r.Header.Get("Authorization"))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestASharedSecretGoesToItsServerAndItsOriginAlone(t *testing.T) {
	const canary, origin = "hb-canary-shared", "https://pay.example.com"
	held := bridgeconfig.SharedSecret("payments", "PAY_TOKEN", origin)
	server := func(change ...func(*bridgeconfig.Server)) bridgeconfig.Server {
		s := bridgeconfig.Server{
			Name: "pay", Shared: "payments", URL: origin + "/mcp", Secrets: []string{"PAY_TOKEN"},
			Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
		}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	for name, tt := range map[string]struct {
		server     bridgeconfig.Server
		unreadable []string
		want       string
		fault      string
	}{
		"its server":                {server(), nil, "Bearer " + canary, ""},
		"another origin":            {server(func(s *bridgeconfig.Server) { s.URL = "https://evil.test/mcp" }), nil, "", "secret shared/payments/PAY_TOKEN is not set"},
		"another scheme":            {server(func(s *bridgeconfig.Server) { s.URL = "http://pay.example.com/mcp" }), nil, "", "secret shared/payments/PAY_TOKEN is not set"},
		"another SharedServer":      {server(func(s *bridgeconfig.Server) { s.Shared = "other" }), nil, "", "secret shared/other/PAY_TOKEN is not set"},
		"a default":                 {server(func(s *bridgeconfig.Server) { s.Secrets, s.Headers[0].Value = []string{"SECOND"}, "${SECOND:-none}/$$" }), nil, "none/$", ""},
		"a server of the user":      {server(func(s *bridgeconfig.Server) { s.Shared = "" }), nil, "Bearer the-users-own", ""},
		"one that does not open":    {server(), []string{held}, "", "secret shared/payments/PAY_TOKEN cannot be opened"},
		"another secret of the one": {server(func(s *bridgeconfig.Server) { s.Secrets, s.Headers[0].Value = []string{"SECOND"}, "${SECOND}" }), nil, "", "secret shared/payments/SECOND is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			set := secret.NewSet("1", map[string][]byte{held: []byte(canary), "PAY_TOKEN": []byte("the-users-own")}, tt.unreadable)
			var seen sent
			g := New(t.Context(), tt.server, set, &seen)
			defer g.end()
			if g.Fault != tt.fault || strings.Contains(g.Fault, canary) {
				t.Errorf("fault %q, want %q", g.Fault, tt.fault)
			}
			for _, to := range []string{tt.server.URL, "https://elsewhere.test/mcp"} {
				r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, to, http.NoBody))(t)
				res := must.Value(g.Network.RoundTrip(r))(t)
				_ = res.Body.Close()
			}
			if seen[0] != tt.want || seen[1] != "" {
				t.Errorf("sent %q there and %q elsewhere, want %q", seen[0], seen[1], tt.want)
			}
		})
	}
}
